package lab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	AgentMain()
	os.Exit(m.Run())
}

// plain is a short path without anything particular.
func plain(t *testing.T) *Scenario {
	t.Helper()
	scenario, err := Parse("plain.yaml", []byte("name: plain\npath: {a_to_b: {rate: 100mbit, delay: 1ms}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return scenario
}

// start gives a running lab that ends with the test.
func start(t *testing.T, scenario *Scenario) *Lab {
	t.Helper()
	lab, err := Start(t.Context(), scenario, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	return lab
}

// output runs a shell line on a host and gives what it printed.
func output(t *testing.T, h *Host, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := h.Command(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

func TestIntegrationHost(t *testing.T) {
	lab := start(t, plain(t))
	for _, test := range []struct{ name, line, want string }{
		{"host name", "hostname; echo $FULLBORE_HOST $FULLBORE_LAB $FULLBORE_A $FULLBORE_B", "a\na plain 198.18.0.1 198.18.0.2"},
		{"own processes only", "ls -d /proc/[0-9]* | wc -l | tr -d ' '; cat /proc/1/comm", "4\nexe"},
		{"own interfaces only", "ls /sys/class/net | tr '\\n' ' '", "lo path0"},
		{"own state", "echo x > $FULLBORE_STATE/x && ls $FULLBORE_STATE /etc/sysctl.d | tr '\\n' ' '", ""},
		{"input and output", "echo in | cat; echo err >&2", "in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Log(output(t, lab.Host("a"), test.line))
		})
	}
}

func TestIntegrationExitCodes(t *testing.T) {
	lab := start(t, plain(t))
	var exit *ExitError
	err := lab.Host("b").Command(t.Context(), "sh", "-c", "exit 7").Run()
	if !errors.As(err, &exit) || exit.Code != 7 {
		t.Errorf("got %v", err)
	}
}
