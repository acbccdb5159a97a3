package main

import (
	"fmt"
	"os"
	"time"

	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/peer/iperf3"
)

// iperf3Flags are those that iperf3 -s has for its users.
type iperf3Flags struct {
	PrivateKey string `name:"rsa-private-key-path" placeholder:"FILE" help:"As with iperf3 -s: key for which its clients encrypt their login. With it, only users may test with iperf3, for as long as clients with the token."`
	Users      string `name:"authorized-users-path" placeholder:"FILE" help:"As with iperf3 -s: lines of name,hash."`
	Skew       int    `name:"time-skew-threshold" default:"10" placeholder:"SECONDS" help:"As with iperf3 -s: how far the clocks may be apart (${default})."`
	PKCS1      bool   `name:"use-pkcs1-padding" help:"Accept logins of iperf3 before 3.17 too, whose padding is weak."`
}

func (f *iperf3Flags) authorises() bool { return f.PrivateKey != "" }

// config reads the files.
func (f *iperf3Flags) config(json bool) (peer.IPerf3, error) {
	c := peer.IPerf3{JSON: json}
	switch {
	case (f.PrivateKey == "") != (f.Users == ""):
		return c, usageError("--rsa-private-key-path and --authorized-users-path: give both or neither")
	case f.PrivateKey == "" && f.PKCS1:
		return c, usageError("--use-pkcs1-padding: give --rsa-private-key-path too")
	case f.Skew < 1 || f.Skew > 3600:
		return c, usageError("--time-skew-threshold: %d seconds: use 1 to 3600", f.Skew)
	case f.PrivateKey == "":
		return c, nil
	}
	text, err := os.ReadFile(f.PrivateKey)
	if err != nil {
		return c, fmt.Errorf("read RSA private key: %w", err)
	}
	users := &iperf3.Users{Skew: time.Duration(f.Skew) * time.Second, PKCS1: f.PKCS1}
	if users.Key, err = iperf3.ParsePrivateKey(text); err != nil {
		return c, fmt.Errorf("%s: %w", f.PrivateKey, err)
	}
	if text, err = os.ReadFile(f.Users); err != nil {
		return c, fmt.Errorf("read users: %w", err)
	}
	if users.List, err = iperf3.ParseUserList(text); err != nil {
		return c, fmt.Errorf("%s: %w", f.Users, err)
	}
	c.Users = users
	return c, nil
}
