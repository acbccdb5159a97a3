package peer

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
)

// Hello is what a far end says of itself.
type Hello struct {
	Protocol   int      `json:"protocol" doc:"Version of this API and of the stream preamble; both ends must have the same"`
	Version    string   `json:"version" doc:"Version of the program"`
	Host       string   `json:"host" doc:"Host name"`
	Authorised bool     `json:"authorised" doc:"The request carried the token"`
	Changes    bool     `json:"changes" doc:"Tunables may be changed with the token"`
	Limits     Limits   `json:"limits" doc:"What this client may ask for"`
	Features   []string `json:"features" doc:"What else this far end can do"`
}

// standing is how a transfer stands.
type standing struct {
	Phase Phase     `json:"phase"`
	Bytes int64     `json:"bytes" doc:"Moved so far, as the far end counts"`
	End   *bulk.End `json:"end,omitempty" doc:"The far end's half of the result, once done"`
}

// intent opens a change set.
type intent struct {
	Reason        string        `json:"reason" maxLength:"500"`
	ConfirmWithin time.Duration `json:"confirm_within_ns" minimum:"1000000000" maximum:"3600000000000" doc:"The set reverts by itself when no call on it comes within this time"`
}

// opening answers it.
type opening struct {
	ID string `json:"id"`
}

// wanted are values to be set.
type wanted struct {
	Settings []change.Setting `json:"settings" minItems:"1" maxItems:"100"`
}

// unwanted are tunables to be put back.
type unwanted struct {
	Tunables []string `json:"tunables" maxItems:"100" nullable:"false" doc:"None: all of the set"`
}

// confirmation keeps a change set.
type confirmation struct {
	Persist bool `json:"persist" doc:"Also after a reboot"`
}
