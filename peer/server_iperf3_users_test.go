package peer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/transcript"
	"github.com/fullbore/fullbore/peer/iperf3"
)

// Who has not logged in has no more places than without users, however many
// users may have.
func TestStrangersLeavePlaces(t *testing.T) {
	t.Parallel()
	far := startHasty(t, Config{
		Public: Limits{Transfer: time.Minute, Streams: 1, Transfers: 2, Samples: 1000},
		IPerf3: IPerf3{Users: &iperf3.Users{}},
	}, "[::]:0", timing{decide: generous, request: generous, attach: generous, silent: generous})
	_, port, _ := net.SplitHostPort(far.address)
	let := 0
	for i := range 5 {
		conn := rawDial(t, "127.0.0.1:"+port)
		say(conn, strings.Repeat(string(rune('a'+i)), 36)+"\x00")
		var answer [1]byte
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			t.Fatal(err)
		}
		if answer[0] == byte(iperf3.ParamExchange) {
			let++
		}
	}
	if let != 1 {
		t.Errorf("%d strangers from one address were let in", let)
	}
	client, err := Dial(within(t, generous), "[::1]:"+port, "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Transfer(within(t, generous), short("forward", 1), nil); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// With users, a stock client needs a name and a password, and may then do as
// much as fullbore's clients with the token.
func TestIntegrationIPerf3Users(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(t.TempDir(), "public.pem")
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: text}), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := iperf3.ParseUserList(fmt.Appendf(nil, "alice,%x\n", sha256.Sum256([]byte("{alice}wonderland"))))
	if err != nil {
		t.Fatal(err)
	}
	log := &transcript.Log{}
	// iperf3 before 3.17 pads as PKCS #1 says, later ones do otherwise: both are
	// let in.
	far := startFarEnd(t, Config{
		Public: Limits{Transfer: 100 * time.Millisecond, Streams: 1, Transfers: 1, Samples: 1000},
		IPerf3: IPerf3{Users: &iperf3.Users{Key: key, List: list, PKCS1: true}},
		Log:    slog.New(slog.NewTextHandler(log, nil)),
	}, "127.0.0.1:0")
	for _, test := range []struct{ user, password, client, log string }{
		{"alice", "wonderland", "iperf Done.", "user=alice"},
		{"alice", "nowhere", "test authorization failed", "the password, is wrong"},
		{"bob", "wonderland", "test authorization failed", "the password, is wrong"},
		{"", "", "test authorization failed", "no token"},
	} {
		options := []string{"-t", "1", "-P", "2", "-b", "1M"}
		if test.user != "" {
			options = append(options, "--username", test.user, "--rsa-public-key-path", public)
		}
		client := iperf3Client(t, within(t, generous), far.address, options...)
		client.Env = append(os.Environ(), "IPERF3_PASSWORD="+test.password)
		out, _ := client.CombinedOutput()
		if !strings.Contains(string(out), test.client) {
			t.Errorf("%s with the password %q does not see %q:\n%s", test.user, test.password, test.client, out)
		}
		log.Await(t, test.log)
	}
}
