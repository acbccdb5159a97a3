//go:build !linux

package ndt7

import (
	"net"

	"github.com/fullbore/fullbore/bulk"
)

func describe(*net.TCPConn, *bulk.Stream) {}

func bbrInfo(*net.TCPConn) *BBRInfo { return nil }
