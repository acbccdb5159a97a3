package iperf3

import (
	"encoding/json"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/freeport"
	"github.com/fullbore/fullbore/internal/transcript"
)

// stock is an iperf3 server as the distribution has it.
type stock struct {
	t       *testing.T
	command *exec.Cmd
	port    string
	done    chan error
	output  transcript.Log
}

// stockServer starts `iperf3 -s` with more options. It ends with the test.
func stockServer(t *testing.T, options ...string) *stock {
	t.Helper()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	s := &stock{t: t, port: freeport.Find(t), done: make(chan error, 1)}
	s.command = exec.Command(program, append([]string{"-s", "-p", s.port}, options...)...)
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.command.Wait() }()
	t.Cleanup(func() {
		_ = s.command.Process.Kill()
		select {
		case <-s.done:
		case <-time.After(5 * time.Second):
			t.Error("the server does not end")
		}
		if t.Failed() {
			output := s.output.String()
			t.Logf("the server's output:\n%s", output[:min(len(output), 2000)])
		}
	})
	return s
}

// at is the server's address, as reached by host.
func (s *stock) at(host string) string { return net.JoinHostPort(host, s.port) }

// account is the part of the document of `iperf3 -s -J` that is held against
// the client's record. Up to 3.12 it has only what the server itself counted.
type account struct {
	Start struct {
		TestStart map[string]any `json:"test_start"`
		SockBuf   int            `json:"sock_bufsize"`
	} `json:"start"`
	Intervals []struct {
		Streams []tally `json:"streams"`
	} `json:"intervals"`
	End struct {
		Streams []struct {
			Sender   tally `json:"sender"`
			Receiver tally `json:"receiver"`
			UDP      tally `json:"udp"`
		} `json:"streams"`
		SenderCongestion string `json:"sender_tcp_congestion"`
	} `json:"end"`
	Error string `json:"error"`
}

type tally struct {
	Bytes       int64 `json:"bytes"`
	Retransmits int64 `json:"retransmits"`
	Packets     int64 `json:"packets"`
	Omitted     bool  `json:"omitted"`
	Sender      bool  `json:"sender"`
}

// counted is what the server itself counted on its i-th stream.
func (a account) counted(i int) tally {
	switch s := a.End.Streams[i]; {
	case s.Sender.Sender:
		return s.Sender
	case s.UDP.Sender:
		return s.UDP
	case s.Receiver.Bytes > 0 || len(a.Intervals) == 0 || a.Start.TestStart["protocol"] == "TCP":
		return s.Receiver
	default: // of a flow that it received the sum has the sender's bytes
		t := s.UDP
		for _, row := range a.Intervals {
			if !row.Streams[i].Omitted {
				t.Bytes += row.Streams[i].Bytes
			}
		}
		return t
	}
}

// account waits for a server with -1 -J to end.
func (s *stock) account() account {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.done <- err
	case <-time.After(5 * time.Second):
		s.t.Fatal("the server does not end after its one test")
	}
	var a account
	if err := json.Unmarshal([]byte(s.output.String()), &a); err != nil {
		s.t.Fatalf("the server's document: %v", err)
	}
	return a
}
