// Package bus carries the control API of hosts that nobody can call, or that are too many to call one
// by one: each has dialled out to a NATS server, an agent, and takes its requests there. What is carried
// are HTTP's messages as they are (RFC 9112), so that what a far end does is defined once.
package bus

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/fullbore/fullbore/hostport"
)

// Schema is the version of what an agent says of itself.
const Schema = "fullbore/agent/1"

// Subjects. An agent hears what is for it and what is for all, and speaks under its own name only, and to
// who asked; who runs experiments asks agents, and hears what they say.
const (
	prefix      = "fullbore."
	forAll      = prefix + "all"
	forOne      = prefix + "to."   // and the agent's ID
	fromOne     = prefix + "from." // and the agent's ID, and what it says
	sayHere     = ".here"
	sayGone     = ".gone"
	inboxes     = "_INBOX"
	everyAgent  = fromOne + "*"
	allOfOne    = ".>"
	answersTo   = inboxes + ".>"
	idOfSubject = `[A-Za-z0-9_-]{1,64}`
)

// MaySay and MayHear are the subjects that an agent needs; besides, it may answer who asked it.
func MaySay(id string) []string { return []string{fromOne + id + allOfOne} }

// MayHear is what an agent listens to: see [MaySay].
func MayHear(id string) []string { return []string{forOne + id, forAll, inboxOf(id) + ".>"} }

// AskerMaySay and AskerMayHear are the subjects that somebody needs who runs experiments.
func AskerMaySay() []string { return []string{forOne + "*", forAll} }

// AskerMayHear is what who runs experiments listens to: see [AskerMaySay].
func AskerMayHear() []string { return []string{everyAgent + allOfOne, answersTo} }

// inboxOf is where an agent gets answers to what it asks.
func inboxOf(id string) string { return inboxes + "_" + id }

// Here is what an agent says of itself, when it is asked, when it comes, and now and then.
type Here struct {
	Schema  string    `json:"schema"`
	ID      string    `json:"id"`      // names its subjects: letters, digits, - and _
	Name    string    `json:"name"`    // as people call the host
	Address string    `json:"address"` // of its far end, as other hosts reach it: address:port
	Version string    `json:"version"` // of fullbore there
	Since   time.Time `json:"since"`   // its process runs
}

var (
	validID   = regexp.MustCompile("^" + idOfSubject + "$")
	validName = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ._:@-]{0,99}$`)
)

// Check says what cannot be right. It comes over the network.
func (h *Here) Check() error {
	switch {
	case h.Schema != Schema:
		return fmt.Errorf("an agent of schema %q, this end knows %q", h.Schema, Schema)
	case !validID.MatchString(h.ID):
		return errors.New("an agent without an ID")
	case !validName.MatchString(h.Name):
		return fmt.Errorf("%q is no name for a host: use letters, digits, and . _ : @ - between them", h.Name)
	case len(h.Version) > 100:
		return errors.New("an agent with an endless version")
	}
	_, _, err := hostport.Parse(h.Address, 1)
	return err
}

// Bounds of what is carried.
const (
	// MostMessage is what a NATS server lets pass unless it is told otherwise (DEFAULT_MAX_PAYLOAD).
	MostMessage = 1 << 20
	// HereEvery is how often an agent says that it is there. Twice as long without a word, and it is not.
	HereEvery = 10 * time.Second
	// mostAtOnce is how many requests of one agent are answered at a time.
	mostAtOnce = 128
	// mostHere is how much an agent may say of itself.
	mostHere = 2 << 10
)
