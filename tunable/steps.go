package tunable

import "strings"

// Fill gives the steps with the name, the value and the instance of a tunable put
// in. It quotes nothing: a value that passes Check has nothing that a shell would
// act on but the blanks of a triplet, which the steps quote; an instance is to be
// checked by whoever took it from elsewhere.
func (s Steps) Fill(name, value, instance string) Steps {
	r := strings.NewReplacer("{name}", name, "{value}", value, "{instance}", instance, "{on}", onOff(value))
	return Steps{Read: r.Replace(s.Read), Live: r.Replace(s.Live), Persist: r.Replace(s.Persist), Unset: r.Replace(s.Unset)}
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
