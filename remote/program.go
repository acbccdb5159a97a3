package remote

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// program is a file to send.
type program struct {
	name   string
	sum    string   // SHA-256, in hex
	size   int64    // packed
	packed *os.File // at its beginning; has no name any more where the system allows that
}

// readProgram packs a file. Its size must be known before the first byte goes.
func readProgram(path string) (p *program, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the program to send: %w", err)
	}
	defer func() { _ = file.Close() }()
	p = &program{name: filepath.Base(path)}
	if p.packed, err = os.CreateTemp("", "fullbore-send-*"); err != nil {
		return nil, fmt.Errorf("pack the program to send: %w", err)
	}
	_ = os.Remove(p.packed.Name()) // else close does
	sum := sha256.New()
	zip, err := gzip.NewWriterLevel(p.packed, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(io.MultiWriter(zip, sum), file)
		err = errors.Join(err, zip.Close())
	}
	if err == nil {
		p.size, err = p.packed.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = p.packed.Seek(0, io.SeekStart)
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("pack the program to send: %w", err)
	}
	p.sum = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

func (p *program) close() {
	_ = p.packed.Close()
	_ = os.Remove(p.packed.Name())
}

// counted says now and then how much of what is sent has gone, and how long the rest takes at the same rate.
type counted struct {
	from  io.Reader
	size  int64 // bytes
	every time.Duration
	watch func(string)

	sent        int64
	began, told time.Time
}

// tellEvery is how often: who waits longer than that for anything wants to see that it goes on.
const tellEvery = 2 * time.Second

func (c *counted) Read(b []byte) (int, error) {
	now := time.Now()
	if c.began.IsZero() {
		c.began, c.told = now, now
	}
	if now.Sub(c.told) >= c.every && c.sent > 0 {
		c.told = now
		left := time.Duration(float64(now.Sub(c.began)) * float64(c.size-c.sent) / float64(c.sent))
		c.watch(fmt.Sprintf("%.1f of %.1f MB sent, about %v left", float64(c.sent)/1e6, float64(c.size)/1e6, left.Round(time.Second)))
	}
	n, err := c.from.Read(b)
	c.sent += int64(n)
	return n, err
}
