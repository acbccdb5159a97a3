package host

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/printable"
)

// rtnetlink is a socket to the kernel's network configuration, of the network
// namespace of the thread that opened it. Reading needs no privileges.
type rtnetlink struct{ conn *netlink.Conn }

func openRTNetlink() (*rtnetlink, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink: %w", err)
	}
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true) // reasons in words, since 4.12
	return &rtnetlink{conn}, nil
}

func (r *rtnetlink) close() { _ = r.conn.Close() }

// dump asks for all objects of a kind; body is the request's fixed header.
func (r *rtnetlink) dump(kind netlink.HeaderType, body []byte) ([]netlink.Message, error) {
	return r.ask(kind, netlink.Request|netlink.Dump, body)
}

func (r *rtnetlink) ask(kind netlink.HeaderType, flags netlink.HeaderFlags, body []byte) ([]netlink.Message, error) {
	answers, err := r.conn.Execute(netlink.Message{Header: netlink.Header{Type: kind, Flags: flags}, Data: body})
	if err != nil {
		return nil, fmt.Errorf("ask rtnetlink: %w", inWords(err))
	}
	return answers, nil
}

// inWords is a refusal of the kernel with the reason that it gives.
func inWords(err error) error {
	answer, ok := errors.AsType[*netlink.OpError](err)
	if !ok || answer.Err == nil {
		return err
	}
	if answer.Message == "" {
		return answer.Err
	}
	return fmt.Errorf("%w (%s)", answer.Err, printable.Line(answer.Message))
}

// attributes gives what follows the fixed header of so many bytes.
func attributes(message []byte, header int) (*netlink.AttributeDecoder, error) {
	if len(message) < header {
		return nil, fmt.Errorf("decode rtnetlink message: %d bytes, want at least %d", len(message), header)
	}
	ad, err := netlink.NewAttributeDecoder(message[header:])
	if err != nil {
		return nil, fmt.Errorf("decode rtnetlink message: %w", err)
	}
	return ad, nil
}
