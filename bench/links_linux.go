package main

import "github.com/fullbore/fullbore/internal/cable"

// link is where the tools run: two places and the address that the sender finds
// the receiver at.
type link struct {
	name     string
	address  string // of the receiver
	sender   place
	receiver place
	remove   func()
}

// place does something in a network namespace: what is started there stays.
type place func(do func() error) error

// links by name.
var links = map[string]func() (*link, error){
	"loopback": func() (*link, error) {
		here := func(do func() error) error { return do() }
		return &link{"loopback", "127.0.0.1", here, here, func() {}}, nil
	},
	"veth": func() (*link, error) {
		c, err := cable.New(cable.Spec{})
		if err != nil {
			return nil, err
		}
		return &link{"veth", "198.18.0.2", c.Near.Do, c.Far.Do, c.Close}, nil
	},
}
