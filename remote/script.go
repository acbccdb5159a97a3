package remote

import (
	"fmt"
	"strings"
)

// The other host's shell is any: what is run there is `sh -s`, and these pieces of POSIX shell on its
// standard input, each after the one before has answered. Answers begin with a mark that was made up for
// this call, so that nothing else that is printed there is taken for one; exit codes say nothing, as every
// shell has its own for a command that it does not find.
//
// A shell may read ahead on its standard input (dash does). So the program's bytes go only after the shell
// has said that it waits for them, when it has read nothing of them.

// say is the shell's function for an answer, with the mark of this call.
func sayScript(mark string) string {
	return fmt.Sprintf("LC_ALL=C; export LC_ALL; umask 077; say() { printf '\\n%s %%s\\n' \"$*\"; }\n", mark)
}

const probeScript = `say "system $(uname -s)|$(uname -m)|$(uname -o 2>/dev/null)|$SSH_CONNECTION"
`

// folderScript makes a folder where a script runs, which one on a noexec mount does not.
const folderScript = `w=
for d in "$XDG_RUNTIME_DIR" "$HOME/.cache" "$HOME" /tmp /var/tmp; do
	case $d in /?*) ;; *) continue ;; esac
	[ -d "$d" ] || continue
	w=$(mktemp -d "$d/fullbore.XXXXXXXX" 2>/dev/null) || { w=; say cannot "$d"; continue; }
	printf '#!/bin/sh\necho runs\n' >"$w/fullbore" && chmod 700 "$w/fullbore"
	[ "$("$w/fullbore" 2>/dev/null)" = runs ] && break
	say noexec "$d"
	rm -rf "$w"
	w=
done
if [ -n "$w" ]; then trap 'cd /; rm -rf "$w"' EXIT; trap 'exit 1' HUP INT TERM PIPE; say folder "$w"; else say nowhere; fi
`

// sendScript takes so many bytes, packed, and says what came out of them. If they cannot be unpacked, as on
// a full disk, the shell must not take the rest of them for commands: it ends.
func sendScript(size int64) string {
	return fmt.Sprintf(`sum() {
	if command -v sha256sum >/dev/null 2>&1; then sha256sum
	elif command -v shasum >/dev/null 2>&1; then shasum -a 256
	elif command -v digest >/dev/null 2>&1; then digest -a sha256
	elif command -v sha256 >/dev/null 2>&1; then sha256 -q
	else openssl dgst -sha256 | sed 's/.*= //'; fi
}
{ say send; head -c %d | gzip -dc >"$w/fullbore"; } || { say failed; exit 1; }
chmod 700 "$w/fullbore"; s=$(sum <"$w/fullbore" 2>&1); say sum "${s%%%% *}"
if v=$("$w/fullbore" version 2>&1 </dev/null); then say runs; else say fails "$v"; fi
`, size)
}

// runScript runs it, with what the environment is to have. A secret, which no other user of that host may
// see in the list of processes, is read from the line that comes after the shell has asked for it. When the
// program ends it says how, and so does the shell, which removes it.
func runScript(args, environment []string, secret string) string {
	var words []string
	for _, set := range environment {
		name, value, _ := strings.Cut(set, "=")
		words = append(words, name+"="+quote(value))
	}
	words = append(words, `"$w/fullbore"`)
	for _, arg := range args {
		words = append(words, quote(arg))
	}
	before := ""
	if secret != "" {
		before = fmt.Sprintf("say secret; IFS= read -r %[1]s; export %[1]s; ", secret)
	}
	return before + "say started; " + strings.Join(words, " ") + "; say exit $?; exit\n"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
