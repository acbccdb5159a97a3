package hub

import (
	"encoding/base64"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/peer"
)

// gate says who may connect, and which subjects are theirs.
type gate struct {
	hub  *Hub
	join *peer.Identity
}

// answerWithin is how long an agent may take over an answer.
const answerWithin = time.Minute

// Check lets in an agent by its key, and the first time by the token to join; and who runs experiments by
// the hub's token. Secrets came over TLS, to the key that the other end expects.
func (g *gate) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	if o.Nkey == "" {
		if !g.hub.config.Identity.Accepts(o.Token) {
			return false
		}
		c.RegisterUser(&server.User{Username: "experiments", Permissions: may(bus.AskerMaySay(), bus.AskerMayHear(), nil)})
		return true
	}
	if !has(o.Nkey, o.Sig, c.GetNonce()) {
		return false
	}
	if !g.hub.agents.knows(o.Nkey) {
		if !g.join.Accepts(o.Token) {
			return false
		}
		if err := g.hub.agents.add(o.Nkey, o.Name); err != nil {
			g.hub.config.Log.Error("an agent cannot join", "name", o.Name, "err", err)
			return false
		}
		g.hub.config.Log.Info("an agent joins", "name", o.Name, "id", o.Nkey, "from", c.RemoteAddress())
	}
	answers := &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin}
	c.RegisterUser(&server.User{Username: o.Nkey, Permissions: may(bus.MaySay(o.Nkey), bus.MayHear(o.Nkey), answers)})
	return true
}

func may(say, hear []string, answer *server.ResponsePermission) *server.Permissions {
	return &server.Permissions{Publish: &server.SubjectPermission{Allow: say}, Subscribe: &server.SubjectPermission{Allow: hear}, Response: answer}
}

// has says whether who connects has the key: the signature is of what the server made up for this connection.
func has(public, signature string, nonce []byte) bool {
	if !nkeys.IsValidPublicUserKey(public) || len(nonce) == 0 {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return false
	}
	signed, err := base64.RawURLEncoding.DecodeString(signature)
	return err == nil && key.Verify(nonce, signed) == nil
}
