package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fullbore/fullbore/record"
)

// Redact gives copies of runs in which names of hosts, and addresses of any kind, are
// replaced, the same one by the same one in all of them: host-a, host-b, ...; addresses
// by those that are reserved for documentation (RFC 5737, RFC 3849, RFC 7042). Names
// are those of the hosts in the runs and on their command lines, and those that
// errors of name resolution and of connecting name; a name of a machine that only a
// free text has cannot be known for one, and stays. Boot identifiers are left out, and
// of file names on the command line all but the last part. In the lab hosts are called
// a and b: these stay.
func Redact(runs []*record.Run) ([]*record.Run, error) {
	if err := check(runs); err != nil {
		return nil, err
	}
	texts := make([][]byte, len(runs))
	r := &redaction{names: map[string]string{}, addresses: map[string]string{}}
	for i, run := range runs {
		open := *run
		open.Command, open.Scenario = fileNames(run.Command), fileNames([]string{run.Scenario})[0]
		if !json.Valid(run.Document) {
			open.Document = nil
		}
		text, err := json.Marshal(&open)
		if err != nil {
			return nil, fmt.Errorf("redact run %.40q: %w", run.ID, err)
		}
		texts[i] = text
		r.learn(run)
	}
	for _, text := range texts {
		if err := eachString(text, nil, func(_, text string) string { r.see(text); return text }); err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
	}
	if len(r.names) > mostNames {
		return nil, fmt.Errorf("redact: the runs name %d hosts, more than the %d that are looked for", len(r.names), mostNames)
	}
	r.choose()
	redacted := make([]*record.Run, len(runs))
	for i, text := range texts {
		var out bytes.Buffer
		if err := eachString(text, &out, r.replace); err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
		redacted[i] = &record.Run{}
		if err := json.Unmarshal(out.Bytes(), redacted[i]); err != nil {
			return nil, fmt.Errorf("redact run %.40q: %w", runs[i].ID, err)
		}
	}
	return redacted, nil
}

// mostNames bounds what each text is searched for.
const mostNames = 1000

// redaction is what is replaced by what.
type redaction struct {
	names     map[string]string // in lower case
	learned   []string          // names in the order in which they came: sender and receiver of the first run are host-a and host-b
	order     []string          // of names, the longest first
	addresses map[string]string // as they are written
	found     []string          // of addresses, as they came
	text      strings.Builder   // all of it, in lower case: no replacement of a name is in it
}

// words of the documents, which a host may be called by too: as a whole value of one
// of these keys they say what they always do.
var words = map[string][]string{
	"kind":       {"test", "diagnose", "tune", "compare", "sweep", "watch", "nfs-test", "nfs-diagnose", "nfs-tune", "phase", "result", "paced", "streams", "congestion", "segment", "again", "longer", "depth"},
	"state":      {"running", "done", "failed", "interrupted"},
	"side":       {"near", "far"},
	"when":       {"before", "after"},
	"direction":  {"forward", "reverse", "both"},
	"protocol":   {"tcp", "udp", "TCP", "UDP"},
	"send_path":  {"copy", "sendfile", "zerocopy"},
	"recv_path":  {"copy", "truncate", "splice"},
	"apply":      {"none", "live", "persist"},
	"os":         {"linux", "freebsd", "macos", "darwin", "solaris", "illumos", "windows"},
	"op":         {"null", "getattr", "read", "write"},
	"setting":    {"windows", "connections"},
	"decision":   {"more", "less", "same", "undecided"},
	"end":        {"client", "server"},
	"of":         {"process", "host"},
	"variant":    {"A", "B"},
	"congestion": {"cubic", "reno", "bbr", "dctcp", "vegas", "htcp", "illinois", "westwood", "bic", "hybla", "cdg", "nv", "lp", "scalable", "veno", "yeah"},
}

// replace is a text without names and addresses; of the key of an object only
// what is behind an @, such as the address of a route.
func (r *redaction) replace(key, text string) string {
	switch {
	case key == isKey:
		tunable, instance, found := strings.Cut(text, "@")
		if !found {
			return r.walk(text, r.address, nil)
		}
		return tunable + "@" + r.replace("", instance)
	case key == "boot_id" || key == "cookie":
		return ""
	case key == "schema" || key == "id" || slices.Contains(words[key], text):
		return text
	}
	return r.walk(text, r.address, r.replaceNames)
}

// address is what stands for one.
func (r *redaction) address(text string) string { return r.addresses[text] }

// isKey is what eachString calls the key of an object by.
const isKey = "\x00key"

// eachString copies a JSON text to out, with every string replaced; look gets the key
// that a string belongs to. Without out nothing is copied.
func eachString(text []byte, out *bytes.Buffer, look func(key, text string) string) error {
	key, begin := "", 0
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			return fmt.Errorf("a string at byte %d has no end", i)
		}
		var value string
		if err := json.Unmarshal(text[i:end+1], &value); err != nil {
			return err
		}
		if !utf8.ValidString(value) {
			value = strings.ToValidUTF8(value, "\ufffd")
		}
		next := bytes.TrimLeft(text[end+1:min(len(text), end+64)], " \t\r\n")
		name := len(next) > 0 && next[0] == ':'
		of := key
		if name {
			of, key = isKey, value
		}
		fresh := look(of, value)
		if out != nil {
			out.Write(text[begin:i])
			quoted, err := json.Marshal(fresh)
			if err != nil {
				return err
			}
			out.Write(quoted)
		}
		i, begin = end+1, end+1
	}
	if out != nil {
		out.Write(text[begin:])
	}
	return nil
}
