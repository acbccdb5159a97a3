package html

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/record"
)

// named are texts that have a name of a machine in a known place: Go's errors of name
// resolution and of connecting.
var named = regexp.MustCompile(`(?:lookup |dial tcp |dial udp |ssh://(?:[^@/ ]+@)?|iperf3://|ndt7://)([A-Za-z0-9_][A-Za-z0-9_.-]*)`)

// learn takes the names of hosts from where a run has them.
func (r *redaction) learn(run *record.Run) {
	lab := run.Scenario != ""
	add := func(name string) {
		name = strings.ToLower(strings.Trim(name, " .[]"))
		if name == "" || lab && (name == "a" || name == "b") {
			return
		}
		if _, err := netip.ParseAddr(name); err == nil {
			return // see: an address
		}
		r.remember(name)
		if short, _, found := strings.Cut(name, "."); found && len(short) > 2 {
			r.remember(short)
		}
	}
	if run.Kind == record.Fleet {
		r.learnFleet(run, add)
		return
	}
	add(run.From)
	add(run.To)
	for _, h := range run.Hosts {
		if h.Is != nil {
			add(h.Is.Name)
		}
	}
	for _, t := range run.Transfers {
		if t.Result != nil {
			for _, e := range []*bulk.End{&t.Result.Client, &t.Result.Server} {
				add(e.Host)
			}
		}
	}
	var document any
	if json.Unmarshal(run.Document, &document) == nil {
		hostsOf(document, add)
	}
	if lab {
		return // no far end is on its command line
	}
	command := run.Command
	if (run.Kind == record.Sweep || strings.HasPrefix(string(run.Kind), "nfs-")) && len(command) > 1 {
		command = command[1:] // the experiment's name; nfs has a verb of its own
	}
	for _, name := range typed(command) {
		add(name)
	}
}

// learnFleet takes the names that a run of many hosts has: in its list, and of the hub on its command
// line. Whom it is between is a count of hosts.
func (r *redaction) learnFleet(run *record.Run, add func(string)) {
	var document struct {
		Hosts   []string        `json:"hosts"`
		LeftOut []fleet.LeftOut `json:"left_out"`
	}
	_ = json.Unmarshal(run.Document, &document) // else there are no names
	for _, name := range document.Hosts {
		add(name)
	}
	for _, left := range document.LeftOut {
		add(left.Host)
	}
	for i := range run.Flows {
		add(run.Flows[i].From)
		add(run.Flows[i].To)
	}
	for i := range run.Shifts {
		add(run.Shifts[i].From)
		add(run.Shifts[i].To)
	}
	for _, c := range run.Changes {
		add(c.Host)
	}
	for i, arg := range run.Command {
		flag, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(run.Command) {
			value = run.Command[i+1]
		}
		if flag != "--hub" && flag != "--nats" {
			continue
		}
		for server := range strings.SplitSeq(value, ",") {
			for _, name := range typed([]string{"", server}) {
				add(name)
			}
		}
	}
}

// remember keeps a name once.
func (r *redaction) remember(name string) {
	if _, known := r.names[name]; !known {
		r.names[name] = ""
		r.learned = append(r.learned, name)
	}
}

// hostKeys are those of documents whose text is the name of a host.
var hostKeys = []string{"host", "from", "to"}

// hostsOf finds the names in a document: under the keys that name hosts, of objects
// that are no tunables ("from" and "to" are their values as well).
func hostsOf(document any, add func(string)) {
	switch d := document.(type) {
	case map[string]any:
		_, change := d["tunable"]
		if _, set := d["setting"]; set { // of an NFS client
			change = true
		}
		for key, value := range d {
			text, ok := value.(string)
			switch {
			case !ok:
				hostsOf(value, add)
			case key == "system_info": // iperf3's: uname -a, whose second word is the host
				if words := strings.Fields(text); len(words) > 1 {
					add(words[1])
				}
			case change && key != "host":
			case slices.Contains(hostKeys, key):
				add(text)
			}
		}
	case []any:
		for _, value := range d {
			hostsOf(value, add)
		}
	}
}

// switches are flags of the command line that have no value behind them.
var switches = []string{"--json", "-J", "-R", "--reverse", "--bidir", "-V", "--verbose", "--quick", "--dry-run", "-u", "--udp", "-4", "-6", "-N", "--no-delay", "--json-stream", "--csv", "--prometheus"}

// typed are the far ends on a command line.
func typed(command []string) []string {
	var names []string
	for i, arg := range command {
		if i == 0 || strings.HasPrefix(arg, "-") || strings.ContainsAny(arg, " /") && !strings.Contains(arg, "://") {
			continue
		}
		if before := command[i-1]; strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !slices.Contains(switches, before) {
			continue // the value of a flag
		}
		_, rest, found := strings.Cut(arg, "://")
		if !found {
			rest = arg
		}
		rest, _, _ = strings.Cut(rest, "/")
		if user, host, found := strings.Cut(rest, "@"); found {
			if rest = host; user != "root" { // who says nothing
				names = append(names, user)
			}
		}
		if host, _, found := strings.Cut(rest, ":"); found && strings.Count(rest, ":") == 1 {
			rest = host
		}
		if strings.Trim(rest, "0123456789.") != "" {
			names = append(names, rest)
		}
	}
	return names
}

// fileNames leaves of paths on a command line the last part: what is before it names
// people and machines.
func fileNames(command []string) []string {
	short := slices.Clone(command)
	for i, arg := range short {
		flag, file, found := strings.Cut(arg, "=")
		if !found {
			flag, file = "", arg
		} else {
			flag += "="
		}
		if strings.Contains(file, "/") && !strings.Contains(file, "://") {
			short[i] = flag + path.Base(file)
		}
	}
	return short
}

// stems of new names: the first that is part of no old one.
var stems = []string{"host-", "machine-", "end-", "node-", "x-", "q-"}

// choose gives every name and address its replacement, in one order.
func (r *redaction) choose() {
	r.order = slices.Clone(r.learned)
	slices.SortFunc(r.order, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	all := r.text.String()
	stem := stems[0]
	for _, s := range stems {
		if !strings.Contains(all, s) && !slices.ContainsFunc(r.order, func(name string) bool { return strings.Contains(s+"abcdefghijklmnopqrstuvwxyz", name) && len(name) > 1 }) {
			stem = s
			break
		}
	}
	n := 0
	for _, name := range r.learned {
		if r.names[name] != "" {
			continue
		}
		// db1 and db1.example.net are one host.
		for _, other := range r.learned {
			if r.names[other] == "" && (other == name || strings.HasPrefix(other, name+".") || strings.HasPrefix(name, other+".")) {
				r.names[other] = stem + letters(n)
			}
		}
		n++
	}
	r.chooseAddresses()
}

// letters number things: a, b, ..., z, aa, ab.
func letters(n int) string {
	text := ""
	for n++; n > 0; n = (n - 1) / 26 {
		text = string(rune('a'+(n-1)%26)) + text
	}
	return text
}

// anywhere is from how many letters a name is replaced inside of words too.
const anywhere = 5

// replaceNames replaces names, whatever case they are written in; short ones only
// where a word begins and ends, as a host may be called "in".
func (r *redaction) replaceNames(text string) string {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		text = lower // letters whose case has another length: rare, and no matter
	}
	for _, name := range r.order {
		if !strings.Contains(lower, name) {
			continue
		}
		var out strings.Builder
		rest := 0
		for at := 0; ; {
			i := strings.Index(lower[at:], name)
			if i < 0 {
				break
			}
			i += at
			end := i + len(name)
			if len(name) < anywhere && (i > 0 && letter(lower[i-1]) || end < len(lower) && letter(lower[end])) {
				at = i + 1
				continue
			}
			out.WriteString(text[rest:i] + r.names[name])
			rest, at = end, end
		}
		out.WriteString(text[rest:])
		text = out.String()
		lower = strings.ToLower(text)
		if len(lower) != len(text) {
			text = lower
		}
	}
	return text
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80 }
