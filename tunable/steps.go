package tunable

import (
	"cmp"
	"net/netip"
	"strings"
)

// Steps are commands for people and scripts. {name}, {value} and {instance} (an
// interface, a mount point, a route's prefix) stand for what they say, {on} for a
// switch as on or off, {family} for ip's option for the prefix's address family;
// Fill puts them in. A step that is empty cannot be done.
type Steps struct {
	Read    string `json:"read,omitempty" yaml:"read"`   // prints the present value
	Live    string `json:"live,omitempty" yaml:"live"`   // sets it now; "": only persisting it does
	Persist string `json:"persist,omitempty" yaml:"-"`   // makes it survive a reboot, in words made of Home: a command, or the line and the file that it is in
	Unset   string `json:"unset,omitempty" yaml:"unset"` // takes the persisted value away
}

// or fills in what s leaves out. What persists a value comes from its home.
func (s Steps) or(way Steps) Steps {
	return Steps{Read: cmp.Or(s.Read, way.Read), Live: cmp.Or(s.Live, way.Live), Unset: cmp.Or(s.Unset, way.Unset)}
}

// Fill gives the steps with the name, the value and the instance of a tunable put
// in, as Fill does for one text.
func (s Steps) Fill(name, value, instance string) Steps {
	fill := func(step string) string { return Fill(step, name, value, instance) }
	return Steps{Read: fill(s.Read), Live: fill(s.Live), Persist: fill(s.Persist), Unset: fill(s.Unset)}
}

// Fill puts the name, the value and the instance of a tunable into a step, or into
// the text of a home. It quotes nothing: a value that passes Check has nothing
// that a shell would act on except the blanks of a triplet, which the steps quote; an
// instance has to be checked by the caller.
func Fill(text, name, value, instance string) string {
	return strings.NewReplacer("{name}", name, "{value}", value, "{instance}", instance, "{on}", onOff(value), "{family}", Family(instance)).Replace(text)
}

// Family is ip's option for the address family of a route's prefix, or of what can
// be either.
func Family(instance string) string {
	prefix, err := netip.ParsePrefix(instance)
	switch {
	case err != nil:
		return "-4|-6"
	case prefix.Addr().Is4():
		return "-4"
	}
	return "-6"
}

// onOff writes a switch as most commands do; of what is not 0 or 1 it says that it
// can be either.
func onOff(value string) string {
	switch value {
	case "0":
		return "off"
	case "1":
		return "on"
	}
	return "on|off"
}
