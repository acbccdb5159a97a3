package nfs_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/synthetic"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// answersFor in the environment makes this program one that only answers, so that what a
// client costs is all that its own process costs.
const answersFor = "FULLBORE_TEST_ANSWERS"

// The ports that it answers on.
const (
	rawPort       = 20_500
	syntheticPort = 20_501
)

func TestMain(m *testing.M) {
	if os.Getenv(answersFor) != "" && !sandbox.Entering() {
		fmt.Fprintln(os.Stderr, answers())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The blocks that are read, and how many are on their way.
const (
	besideBlock = 4 << 10
	besideDepth = 64
	besideFile  = 1 << 20

	// Bytes of a READ of version 4.1 and its answer, beside the block: what the raw loop moves,
	// too.
	rawAsks, rawAnswers = 200, besideBlock + 140
)

// answers serves the synthetic files, and the raw loop.
func answers() error {
	server, err := synthetic.New(synthetic.Config{Files: []synthetic.File{{Name: "big", Size: 100 * unit.GiB}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	files, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", syntheticPort))
	if err != nil {
		return err
	}
	raw, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", rawPort))
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := raw.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = rawAnswer(conn)
			}()
		}
	}()
	return server.Serve(context.Background(), files) // until it is killed
}

// rawAnswer answers all requests that have come by one write.
func rawAnswer(conn net.Conn) error {
	in, out, have := make([]byte, besideDepth*rawAsks), make([]byte, besideDepth*rawAnswers), 0
	for {
		n, err := conn.Read(in)
		if err != nil {
			return err
		}
		have += n
		if _, err := conn.Write(out[:have/rawAsks*rawAnswers]); err != nil {
			return err
		}
		have %= rawAsks
	}
}

// rawLoop keeps requests of one size on their way for answers of one size, and does nothing
// else: the limit of a client that copies what it gets.
func rawLoop(seconds float64) (perCPU float64, err error) {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", rawPort))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	in, out := make([]byte, 256<<10), make([]byte, besideDepth*rawAsks)
	if _, err := conn.Write(out); err != nil {
		return 0, err
	}
	answered, have := 0, 0
	began, before := time.Now(), processor()
	for time.Since(began).Seconds() < seconds {
		n, err := conn.Read(in)
		if err != nil {
			return 0, err
		}
		have += n
		done := have / rawAnswers
		have %= rawAnswers
		answered += done
		if _, err := conn.Write(out[:done*rawAsks]); err != nil {
			return 0, err
		}
	}
	return float64(answered) / (processor() - before).Seconds(), nil
}

// processor is this process's time.
func processor() time.Duration {
	times, _ := host.ReadCPU() // which Linux knows
	return times.User + times.System
}

// ours reads by this client, and gives what a processor second brings.
func ours(t *testing.T, address string, coalesce bool, seconds float64) float64 {
	t.Helper()
	target, err := nfs.ParseTarget(address)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nfs.Open(t.Context(), target, nfs.Options{Connections: 1, Depth: besideDepth})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Run(t.Context(), nfs.Load{Op: nfs.Read, Size: besideBlock, Random: true, Depth: besideDepth, Coalesce: coalesce, Omit: 200 * time.Millisecond, Duration: time.Duration(seconds * float64(time.Second))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return float64(f.Requests) / f.CPU.Seconds()
}

// TestIntegrationBeside: what this client gets for a second of the processor, 4 KiB a read, beside
// a raw loop that only moves as many bytes, over the loopback, in turns. With
// FULLBORE_NFS_ROUNDS it takes so many rounds of a second each, and has libnfs's asynchronous
// interface beside it against the same NFS-Ganesha (make bench-nfs).
func TestIntegrationBeside(t *testing.T) {
	rounds, seconds := 2, 0.2
	against := false
	if n, err := strconv.Atoi(os.Getenv("FULLBORE_NFS_ROUNDS")); err == nil && n >= 2 {
		rounds, seconds, against = n, 1, true
	}
	if against && !sandbox.Entering() { // in the sandbox there is no compiler
		t.Setenv(stockReader, build(t))
	}
	if !sandbox.Run(t) {
		return
	}
	defer sandbox.KillOthers()
	loopbackUp(t)
	helper := exec.CommandContext(t.Context(), "/proc/self/exe")
	helper.Env = append(os.Environ(), answersFor+"=1")
	helper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	listens(t, rawPort, "", helper)

	synthetics := fmt.Sprintf("nfs://127.0.0.1:%d%s/big?version=4.1", syntheticPort, synthetic.Root)
	var loop, mine, coalesced []float64
	for range rounds {
		got, err := rawLoop(seconds)
		if err != nil {
			t.Fatal(err)
		}
		loop = append(loop, got)
		mine, coalesced = append(mine, ours(t, synthetics, false, seconds)), append(coalesced, ours(t, synthetics, true, seconds))
	}
	compared(t, "synthetic files", "raw loop", loop, mine)
	compared(t, "synthetic files, coalesced", "raw loop", loop, coalesced)
	if least := stat.Median(mine) / stat.Median(loop); !(least > 0) {
		t.Errorf("%v beside %v", mine, loop)
	}
	if against {
		besideLibnfs(t, rounds, seconds)
	}
}

// compared logs what a second of the processor brings.
func compared(t *testing.T, what, other string, theirs, mine []float64) {
	t.Helper()
	e := stat.PairedAt(0.95, theirs, mine)
	t.Logf("%s: ours %.0f reads a processor second, %s %.0f: x %.3g (95 %%: %.3g to %.3g) in %d rounds",
		what, stat.Median(mine), other, stat.Median(theirs), e.Gain, e.Low, e.High, len(mine))
}

// stockReader in the environment is where the reader by libnfs is.
const stockReader = "FULLBORE_TEST_LIBNFS_READS"

// build makes the reader by libnfs.
func build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(others)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "libnfs_reads")
	output(t, exec.CommandContext(t.Context(), "cc", "-O2", "-Wall", "-Wextra", "-Werror", "-I", filepath.Join(root, "usr/include"),
		"-o", program, "testdata/libnfs_reads.c", "-L", filepath.Join(root, "usr/lib/x86_64-linux-gnu"), "-lnfs"))
	return program
}

// besideLibnfs reads the same file of NFS-Ganesha by both.
func besideLibnfs(t *testing.T, rounds int, seconds float64) {
	t.Helper()
	startGanesha(t)
	stock := fmt.Sprintf("nfs://127.0.0.1/mem/file?version=3&nfsport=%d&mountport=%d", ganeshaPort, ganeshaPort+1)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, bytes.Repeat(binary.BigEndian.AppendUint64(nil, 7), besideFile/8), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, other(t, "nfs-cp", data, stock))
	theirs := func() float64 {
		cmd := other(t, "nfs-cp") // for its libraries
		cmd.Path, cmd.Args = os.Getenv(stockReader), []string{"libnfs_reads", stock, strconv.Itoa(besideFile), strconv.Itoa(besideBlock), strconv.Itoa(besideDepth), fmt.Sprint(seconds)}
		var answered, spent, took float64
		if _, err := fmt.Fscan(bytes.NewReader(output(t, cmd)), &answered, &spent, &took); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return answered / spent
	}
	for _, version := range []string{"3", "4.1"} {
		address := fmt.Sprintf("nfs://127.0.0.1:%d/mem/file?version=%s&mountport=%d", ganeshaPort, version, ganeshaPort+1)
		var libnfs, mine, coalesced []float64
		for range rounds {
			libnfs = append(libnfs, theirs())
			mine, coalesced = append(mine, ours(t, address, false, seconds)), append(coalesced, ours(t, address, true, seconds))
		}
		compared(t, "NFS-Ganesha, version "+version, "libnfs (version 3)", libnfs, mine)
		compared(t, "NFS-Ganesha, version "+version+", coalesced", "libnfs (version 3)", libnfs, coalesced)
	}
}
