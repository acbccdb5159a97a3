package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fullbore/fullbore/peer"
)

// Target is the far end that most verbs need: a host, or a scenario's.
type Target struct {
	Host  string `arg:"" optional:"" help:"Far end: host or host:port where 'fullbore serve' runs."`
	Lab   string `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead (name or file; see 'fullbore lab list')."`
	Token string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What the far end's 'serve' printed: allows to read its facts and change its tunables."`
}

// AfterApply is called by kong once the command line is read.
func (t *Target) AfterApply() error {
	switch {
	case t.Host == "" && t.Lab == "":
		return fmt.Errorf("name the far end, or a scenario with --lab")
	case t.Host != "" && t.Lab != "":
		return fmt.Errorf("both the far end %s and the scenario %s were given: use one", t.Host, t.Lab)
	}
	return nil
}

// dial connects to the far end.
func (t *Target) dial(app *app) (*peer.Client, error) {
	for _, scheme := range []string{"iperf3://", "ndt7://", "ssh://"} {
		if strings.HasPrefix(t.Host, scheme) {
			return nil, usageError("far ends of the kind %s are not supported by this version: run 'fullbore serve' there", scheme)
		}
	}
	client, err := peer.Dial(app.ctx, t.Host, t.Token)
	if err != nil {
		return nil, err
	}
	return client, nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
