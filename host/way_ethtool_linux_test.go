package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// card is a network card as it answers ethtool(8)'s ioctl: no virtual device has
// all of these. It takes rings and channels up to its maxima, as the kernel does
// (net/ethtool/ioctl.c), and fixed features stay.
type card struct {
	structures map[uint32][]uint32 // by the command that reads it
	names      []string
	features   map[string]feature
	asked      []uint32 // commands
}

// igb is a card of four queues.
func igb() *card {
	return &card{
		structures: map[uint32][]uint32{
			rings.get:      {0, 4096, 0, 0, 4096, 256, 0, 0, 256},
			channels.get:   {0, 0, 0, 1, 8, 0, 0, 1, 4},
			coalescing.get: append([]uint32{0, 3}, make([]uint32, 21)...),
			pauses.get:     {0, 1, 1, 0},
		},
		names: []string{"tx-scatter-gather", "tx-checksum-ip-generic", "rx-checksum", "tx-tcp-segmentation", "tx-tcp-mangleid-segmentation", "rx-lro", "tx-tcp6-segmentation", "rx-gro"},
		features: map[string]feature{
			"tx-scatter-gather": {true, true, true}, "tx-checksum-ip-generic": {true, true, true}, "rx-checksum": {true, true, true},
			"tx-tcp-segmentation": {true, true, true}, "tx-tcp6-segmentation": {true, true, true}, "tx-tcp-mangleid-segmentation": {true, false, false},
			"rx-lro": {}, "rx-gro": {true, true, true},
		},
	}
}

func (c *card) ask(command uint32, data []byte) error {
	c.asked = append(c.asked, command)
	for _, s := range []structure{rings, channels, coalescing, pauses} {
		held := c.structures[s.get]
		switch {
		case held == nil || command != s.get && command != s.set:
		case command == s.get:
			for i, value := range held {
				binary.NativeEndian.PutUint32(data[4*i:], value)
			}
			return nil
		default:
			for i := range held {
				held[i] = binary.NativeEndian.Uint32(data[4*i:])
			}
			return nil
		}
	}
	switch command {
	case ethtoolGSSetInfo:
		binary.NativeEndian.PutUint32(data[16:], uint32(len(c.names)))
	case ethtoolGStrings:
		for i, name := range c.names {
			copy(data[12+i*stringLength:], name)
		}
	case ethtoolGFeatures:
		for i, name := range c.names {
			f := c.features[name]
			for word, on := range []bool{f.available, f.wanted, f.active} {
				if on {
					at := data[8+16*(i/32)+4*word:]
					binary.NativeEndian.PutUint32(at, binary.NativeEndian.Uint32(at)|1<<(i%32))
				}
			}
		}
	case ethtoolSFeatures:
		for i, name := range c.names {
			valid, wanted := binary.NativeEndian.Uint32(data[8+8*(i/32):])>>(i%32)&1, binary.NativeEndian.Uint32(data[12+8*(i/32):])>>(i%32)&1
			if f := c.features[name]; valid == 1 && f.available {
				f.wanted, f.active = wanted == 1, wanted == 1
				c.features[name] = f
			}
		}
	default:
		return unix.EOPNOTSUPP
	}
	return nil
}

func TestParameters(t *testing.T) {
	for _, test := range []struct {
		name      string
		now, most uint32
		set       uint32
		says      string
	}{
		{"link.ring.rx", 256, 4096, 4096, ""},
		{"link.ring.tx", 256, 4096, 64, ""},
		{"link.ring.rx", 256, 4096, 4097, "the device has 4096 at most"},
		{"link.channels.combined", 4, 8, 8, ""},
		{"link.channels.combined", 4, 8, 16, "the device has 8 at most"},
		{"link.coalesce.rx-usecs", 3, 0, 50, ""},
		{"link.coalesce.adaptive-rx", 0, 0, 1, ""},
		{"link.coalesce.adaptive-rx", 0, 0, 2, "neither 0 nor 1"},
		{"link.pause.autoneg", 1, 0, 0, ""},
		{"link.pause.rx", 1, 0, 0, ""},
		{"link.pause.tx", 0, 0, 1, ""},
	} {
		p, ok := ways[test.name].(parameter)
		if !ok {
			t.Fatalf("%s is no parameter", test.name)
		}
		c := igb()
		before := slices.Clone(c.structures[p.structure.get])
		data, now, err := p.read(c)
		if err != nil || now != test.now {
			t.Errorf("%s is %d (%v), want %d", test.name, now, err, test.now)
		}
		if p.largest > 0 && binary.NativeEndian.Uint32(p.word(data, p.largest)) != test.most {
			t.Errorf("%s: the most is not %d", test.name, test.most)
		}
		err = p.write(c, test.set)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("set %s to %d: %v, want %q", test.name, test.set, err, test.says)
		}
		if test.says != "" {
			continue
		}
		// All else of the structure is as it was.
		before[p.at] = test.set
		if after := c.structures[p.structure.get]; !slices.Equal(after, before) {
			t.Errorf("%s made it %v, want %v", test.name, after, before)
		}
	}
}

func TestParametersThatAreNotThere(t *testing.T) {
	c := igb()
	c.structures[channels.get] = []uint32{0, 4, 4, 0, 0, 4, 4, 0, 0} // a veth: no combined ones
	delete(c.structures, rings.get)
	for _, name := range []string{"link.channels.combined", "link.ring.rx"} {
		p, _ := ways[name].(parameter)
		if _, value, err := p.read(c); !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("%s is %d, %v", name, value, err)
		}
		if err := p.write(c, 1); err == nil || slices.Contains(c.asked, p.structure.set) {
			t.Errorf("%s: %v after %x", name, err, c.asked)
		}
	}
}

// A card whose offloads are switched and switched back is what it was; features
// that are not TCP's stay.
func TestOffloadsOfACard(t *testing.T) {
	for _, test := range []struct {
		offload offload
		change  func(*card)
		says    string
	}{
		{"tso", func(*card) {}, ""},
		{"tx", func(*card) {}, ""},
		{"gro", func(*card) {}, ""},
		{"lro", func(*card) {}, errNoOffload.Error()},
		{"rx", func(c *card) { c.features["rx-checksum"] = feature{false, true, true} }, errFixed.Error()},
		{"tso", func(c *card) { c.features["tx-tcp6-segmentation"] = feature{true, false, false} }, "tx-tcp-segmentation, tx-tcp6-segmentation"},
		{"tso", func(c *card) { c.features["tx-tcp6-segmentation"] = feature{} }, ""}, // it has only one of them
	} {
		c := igb()
		test.change(c)
		before := maps.Clone(c.features)
		s := &session{}
		err := test.offload.turn(s, c, false)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s off: %v, want %q", test.offload, err, test.says)
		}
		if test.says != "" {
			continue
		}
		off, err := readFeatures(c, s.features)
		if on, _, _ := test.offload.state(off); on || err != nil {
			t.Errorf("%s is still on (%v)", test.offload, err)
		}
		if err := test.offload.turn(s, c, true); err != nil || !maps.Equal(before, c.features) {
			t.Errorf("%s: %v, %v, was %v", test.offload, err, c.features, before)
		}
		changes := len(c.asked)
		if err := test.offload.turn(s, c, true); err != nil || slices.Contains(c.asked[changes:], ethtoolSFeatures) {
			t.Errorf("%s is on already: %v, %x", test.offload, err, c.asked[changes:])
		}
	}
}

// A kernel with as many features as no kernel has is not believed.
func TestTooManyFeatures(t *testing.T) {
	c := igb()
	for i := range maxFeatures {
		c.names = append(c.names, fmt.Sprint(i))
	}
	if _, err := readFeatureNames(c); err == nil || !strings.Contains(err.Error(), "want 1 to 256") {
		t.Error(err)
	}
	c.names = nil
	if _, err := readFeatureNames(c); err == nil {
		t.Error("a kernel without features")
	}
}
