package main

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const rawCommand = "raw"

// raw is the limit: a thread a stream that only writes, or reads,
// blocks of 128 KiB with blocking system calls. Its arguments are "send
// ADDRESS STREAMS SECONDS" or "receive ADDRESS STREAMS".
func raw(args []string) error {
	streams, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(streams + 2) // a raw system call holds its processor
	var moved atomic.Int64
	ended := make(chan error, streams)
	began := time.Now()
	if args[0] == "send" {
		seconds, err := strconv.ParseFloat(args[3], 64)
		if err != nil {
			return err
		}
		until := began.Add(time.Duration(seconds * float64(time.Second)))
		for range streams {
			conn, err := net.Dial("tcp", args[1])
			if err != nil {
				return err
			}
			go func() { ended <- loop(conn, syscall.SYS_WRITE, &moved, until) }()
		}
	} else {
		listener, err := net.Listen("tcp", args[1])
		if err != nil {
			return err
		}
		for i := range streams {
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			if i == 0 {
				began = time.Now()
			}
			go func() { ended <- loop(conn, syscall.SYS_READ, &moved, began.Add(time.Hour)) }()
		}
	}
	for range streams {
		err = errors.Join(err, <-ended)
	}
	fmt.Printf("%d %f\n", moved.Load(), time.Since(began).Seconds())
	return err
}

// loop makes one system call after the other until the time or the data ends.
func loop(conn net.Conn, call uintptr, moved *atomic.Int64, until time.Time) error {
	runtime.LockOSThread()
	if err := conn.(*net.TCPConn).SetNoDelay(false); err != nil { // Go sets it, the other tools do not
		return err
	}
	file, err := conn.(*net.TCPConn).File() // a blocking descriptor of its own
	if err != nil {
		return err
	}
	defer file.Close()
	conn.Close()
	fd := file.Fd()
	block := make([]byte, 128<<10)
	var total int64
	defer func() { moved.Add(total) }()
	for time.Now().Before(until) {
		n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(&block[0])), uintptr(len(block)))
		if errno != 0 {
			return errno
		}
		if n == 0 {
			return nil
		}
		total += int64(n)
	}
	return nil
}
