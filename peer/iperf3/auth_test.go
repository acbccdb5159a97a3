package iperf3

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func authFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/auth/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testUsers knows mario, with the password rossi.
func testUsers(t testing.TB, pkcs1 bool) *Users {
	t.Helper()
	key, err := ParsePrivateKey(authFile(t, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseUserList(authFile(t, "users"))
	if err != nil {
		t.Fatal(err)
	}
	return &Users{Key: key, List: list, PKCS1: pkcs1}
}

func mario(t testing.TB, pkcs1 bool) *Credentials {
	t.Helper()
	key, err := ParsePublicKey(authFile(t, "pub.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return &Credentials{User: "mario", Password: "rossi", Key: key, PKCS1: pkcs1}
}

// Tokens that iperf3 3.12 and openssl made.
func TestUsersTakeOthersTokens(t *testing.T) {
	var sent heard
	sent.asServer(playing(t, readExchange(t, "auth").client[cookieSize:]))
	for name, test := range map[string]struct {
		token string
		pkcs1 bool
	}{
		"iperf3 3.12, PKCS #1 v1.5": {sent.Parameters.AuthToken, true},
		"openssl, OAEP":             {string(authFile(t, "oaep.token")), false},
		"openssl, OAEP, both taken": {string(authFile(t, "oaep.token")), true},
	} {
		u := testUsers(t, test.pkcs1)
		secret, err := base64.StdEncoding.DecodeString(test.token)
		if err != nil {
			t.Fatal(err)
		}
		_, _, at, err := parseToken(u.decrypt(secret))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if user, err := u.authorise(test.token, at.Add(10*time.Second)); user != "mario" || err != nil {
			t.Errorf("%s: %q, %v", name, user, err)
		}
	}
	if _, err := testUsers(t, false).authorise(sent.Parameters.AuthToken, time.Now()); err == nil {
		t.Error("PKCS #1 v1.5 was taken unasked")
	}
}

func TestUsersRefuse(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	token := func(change func(*Credentials), at time.Time) string {
		c := mario(t, false)
		change(c)
		text, err := c.Token(at)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	none := func(*Credentials) {}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ token, says string }{
		"no token":           {"", "no token"},
		"no base64":          {"*", "no token"},
		"a short one":        {"AAAA", "no token"},
		"nonsense":           {base64.StdEncoding.EncodeToString(make([]byte, 256)), "another key"},
		"another user":       {token(func(c *Credentials) { c.User = "luigi" }, now), `user "luigi"`},
		"another password":   {token(func(c *Credentials) { c.Password = "bianchi" }, now), `user "mario"`},
		"the hash":           {token(func(c *Credentials) { c.Password = string(authFile(t, "users")[len(authFile(t, "users"))-65:][:64]) }, now), `user "mario"`},
		"another key":        {token(func(c *Credentials) { c.Key = &other.PublicKey }, now), "another key"},
		"an old padding":     {token(func(c *Credentials) { c.PKCS1 = true }, now), "another key"},
		"a late clock":       {token(none, now.Add(-11*time.Second)), "11s apart"},
		"a clock in advance": {token(none, now.Add(11*time.Second)), "11s apart"},
		"no login": {base64.StdEncoding.EncodeToString(func() []byte {
			b, _ := encryptPKCS1(mario(t, true).Key, []byte("user: mario\npwd:  rossi"))
			return b
		}()), "another key"},
	} {
		if user, err := testUsers(t, name == "no login").authorise(test.token, now); err == nil || user != "" || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %q, %v, want %q", name, user, err, test.says)
		}
	}
}

func TestUsersRefuseReplays(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	u := testUsers(t, false)
	c := mario(t, false)
	first, _ := c.Token(now)
	second, _ := c.Token(now) // the same words, encrypted anew: another login
	for _, token := range []string{first, second} {
		if _, err := u.authorise(token, now); err != nil {
			t.Fatal(err)
		}
	}
	for _, replay := range []string{first, second, first[:len(first)-4] + strings.ReplaceAll(first[len(first)-4:], "=", ""), first + "\n"} {
		if _, err := u.authorise(replay, now.Add(9*time.Second)); err == nil {
			t.Errorf("%q was taken twice", replay)
		}
	}
	// What has expired need not be remembered.
	third, _ := c.Token(now.Add(time.Minute))
	if _, err := u.authorise(third, now.Add(time.Minute)); err != nil || len(u.used) != 1 {
		t.Errorf("%d remembered, %v", len(u.used), err)
	}
	// Nor can remembering be made to fill the memory.
	for i := range maxRemembered {
		u.used[[32]byte{byte(i), byte(i >> 8), 1}] = now.Add(time.Hour)
	}
	fourth, _ := c.Token(now.Add(time.Minute))
	if _, err := u.authorise(fourth, now.Add(time.Minute)); err == nil || len(u.used) > maxRemembered+1 {
		t.Errorf("%d remembered, %v", len(u.used), err)
	}
}

// However a login fails, the answer comes after the same time, and only so many
// at once.
func TestUsersPace(t *testing.T) {
	u, c := testUsers(t, true), mario(t, false)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		token, err := c.Token(began)
		if err != nil {
			t.Fatal(err)
		}
		if user, err := u.Authorise(t.Context(), token); user != "mario" || err != nil || time.Since(began) != 0 {
			t.Errorf("%q, %v after %v", user, err, time.Since(began))
		}
		for _, bad := range []string{"", token, base64.StdEncoding.EncodeToString(make([]byte, 256))} {
			asked := time.Now()
			if _, err := u.Authorise(t.Context(), bad); err == nil || time.Since(asked) != failTime {
				t.Errorf("%v after %v", err, time.Since(asked))
			}
		}
		asked := time.Now()
		answers := make(chan time.Duration)
		for range 3 * failing {
			go func() {
				_, _ = u.Authorise(t.Context(), "")
				answers <- time.Since(asked)
			}()
		}
		for i := range 3 * failing {
			if after := <-answers; after != failTime*time.Duration(1+i/failing) {
				t.Errorf("answer %d after %v", i, after)
			}
		}
		gone, leave := context.WithTimeoutCause(t.Context(), failTime/2, ErrClosed)
		defer leave()
		if _, err := u.Authorise(gone, ""); !errors.Is(err, ErrClosed) {
			t.Errorf("gone: %v", err)
		}
	})
}

func TestTokenThereAndBack(t *testing.T) {
	keys := map[bool]*Users{false: testUsers(t, false), true: testUsers(t, true)}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[!-~äß€]{1,60}`)
		pkcs1 := rapid.Bool().Draw(t, "pkcs1")
		c := Credentials{User: word.Draw(t, "user"), Password: word.Draw(t, "password"), Key: &keys[true].Key.PublicKey, PKCS1: pkcs1}
		at := time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "at"), 0)
		token, err := c.Token(at)
		if err != nil {
			if len(c.User)+len(c.Password) < 100 {
				t.Fatal(err)
			}
			return // too long for the key
		}
		secret, err := base64.StdEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		user, password, when, err := parseToken(keys[pkcs1].decrypt(secret))
		if err != nil || user != c.User || password != c.Password || !when.Equal(at) {
			t.Fatalf("%q, %q, %v, %v", user, password, when, err)
		}
	})
}

func TestCredentialsRefused(t *testing.T) {
	for name, change := range map[string]func(*Credentials){
		"no user":             func(c *Credentials) { c.User = "" },
		"no password":         func(c *Credentials) { c.Password = "" },
		"a blank in the name": func(c *Credentials) { c.User = "super mario" },
		"a second line":       func(c *Credentials) { c.Password = "rossi\nts:   0" },
		"a NUL":               func(c *Credentials) { c.Password = "rossi\x00" },
		"too long":            func(c *Credentials) { c.Password = strings.Repeat("x", 200) },
	} {
		c := mario(t, false)
		change(c)
		if token, err := c.token(); err == nil {
			t.Errorf("%s: %s", name, token)
		}
	}
}

func TestParseKeys(t *testing.T) {
	key := testUsers(t, false).Key
	old := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if again, err := ParsePrivateKey(old); err != nil || !again.Equal(key) {
		t.Errorf("PKCS #1: %v", err)
	}
	oldPublic := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)})
	if again, err := ParsePublicKey(oldPublic); err != nil || !again.Equal(&key.PublicKey) {
		t.Errorf("PKCS #1: %v", err)
	}
	for name, says := range map[string]string{
		"enc1.pem": "encrypted", "enc8.pem": "encrypted", "ec.pem": "another kind", "pub.pem": `PEM has "PUBLIC KEY"`,
		"users": "not in PEM", "small.pem": "1024",
	} {
		if _, err := ParsePrivateKey(authFile(t, name)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, says := range map[string]string{
		"ecpub.pem": "another kind", "key.pem": `PEM has "PRIVATE KEY"`, "users": "not in PEM", "smallpub.pem": "512 bits are too few",
	} {
		if _, err := ParsePublicKey(authFile(t, name)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseUserList(t *testing.T) {
	hash := strings.Repeat("0aF9", 16)
	list, err := ParseUserList([]byte("# all of us\n\n a," + hash + "\r\nb," + hash + "\na," + strings.Repeat("1", 64)))
	if err != nil || len(list) != 3 {
		t.Errorf("%d users, %v", len(list), err)
	}
	for text, says := range map[string]string{
		"":                                  "there are none",
		"# nobody\n":                        "there are none",
		"\n# all\nmario":                    "line 3: use name,hash",
		"," + hash:                          "line 1: use name,hash",
		"a," + hash + "\nb," + hash[1:]:     "line 2: the hash",
		"a," + hash + ",c":                  "line 1: the hash",
		"a,secret":                          "line 1: the hash",
		"a," + strings.Repeat("x", 100_000): "token too long",
	} {
		if _, err := ParseUserList([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.50q: %v, want %q", text, err, says)
		}
	}
}
