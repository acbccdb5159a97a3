package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// offload is one of Offloads. ethtool(8) makes one switch of several features;
// here it is those of them that TCP over IPv4 and IPv6 uses: others, such as
// SCTP's checksum or tx-tcp-mangleid-segmentation, stay as they are, and what
// needs a feature that is off rests until that is on again
// (netdev_fix_features), so that what was there can be put back.
type offload string

// offloadFeatures are the names of the features behind each of Offloads
// (net/ethtool/common.c, netdev_features_strings).
var offloadFeatures = map[string][]string{
	"rx":  {"rx-checksum"},
	"tx":  {"tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-ipv6"},
	"sg":  {"tx-scatter-gather"},
	"tso": {"tx-tcp-segmentation", "tx-tcp6-segmentation"},
	"gso": {"tx-generic-segmentation"},
	"gro": {"rx-gro"},
	"lro": {"rx-lro"},
}

// Commands and structures (linux/ethtool.h).
const (
	ethtoolGSSetInfo  = 0x37
	ethtoolGStrings   = 0x1b
	ethtoolGFeatures  = 0x3a
	ethtoolSFeatures  = 0x3b
	stringsOfFeatures = 4  // ETH_SS_FEATURES
	stringLength      = 32 // ETH_GSTRING_LEN
	maxFeatures       = 256
)

// readFeatureNames asks for the names of a kernel's features, by their bit. They
// are the same for every device.
func readFeatureNames(device asker) ([]string, error) {
	info := make([]byte, 20) // struct ethtool_sset_info, with one number
	binary.NativeEndian.PutUint64(info[8:], 1<<stringsOfFeatures)
	if err := device.ask(ethtoolGSSetInfo, info); err != nil {
		return nil, lacks(err)
	}
	count := binary.NativeEndian.Uint32(info[16:])
	if count == 0 || count > maxFeatures {
		return nil, fmt.Errorf("the kernel reports %d features, want 1 to %d", count, maxFeatures)
	}
	text := make([]byte, 12+count*stringLength) // struct ethtool_gstrings
	binary.NativeEndian.PutUint32(text[4:], stringsOfFeatures)
	binary.NativeEndian.PutUint32(text[8:], count)
	if err := device.ask(ethtoolGStrings, text); err != nil {
		return nil, lacks(err)
	}
	names := make([]string, count)
	for i := range names {
		name, _, _ := bytes.Cut(text[12+i*stringLength:][:stringLength], []byte{0})
		names[i] = string(name)
	}
	return names, nil
}

// feature is how one of them stands: what the device can switch, what was asked
// for, what is on.
type feature struct{ available, wanted, active bool }

// readFeatures reads all features of a device, by their names.
func readFeatures(device asker, names []string) (map[string]feature, error) {
	blocks := (len(names) + 31) / 32
	data := make([]byte, 8+16*blocks) // struct ethtool_gfeatures
	binary.NativeEndian.PutUint32(data[4:], uint32(blocks))
	if err := device.ask(ethtoolGFeatures, data); err != nil {
		return nil, lacks(err)
	}
	features := map[string]feature{}
	for i, name := range names {
		block := data[8+16*(i/32):]
		bit := func(word int) bool { return binary.NativeEndian.Uint32(block[4*word:])>>(i%32)&1 == 1 }
		features[name] = feature{available: bit(0), wanted: bit(1), active: bit(2)}
	}
	return features, nil
}

// switchFeatures asks for features to be on or off, all others untouched.
func switchFeatures(device asker, names, which []string, on bool) error {
	blocks := (len(names) + 31) / 32
	data := make([]byte, 8+8*blocks) // struct ethtool_sfeatures
	binary.NativeEndian.PutUint32(data[4:], uint32(blocks))
	for i, name := range names {
		for _, w := range which {
			if w != name {
				continue
			}
			block := data[8+8*(i/32):]
			valid, requested := block[:4], block[4:8]
			bit := uint32(1) << (i % 32)
			binary.NativeEndian.PutUint32(valid, binary.NativeEndian.Uint32(valid)|bit)
			if on {
				binary.NativeEndian.PutUint32(requested, binary.NativeEndian.Uint32(requested)|bit)
			}
		}
	}
	if err := device.ask(ethtoolSFeatures, data); err != nil {
		return refused(err)
	}
	return nil
}

// state is whether any of the offload's features is on, and which of them can
// be switched; here is whether the device has any.
func (o offload) state(features map[string]feature) (on bool, switched []string, here bool) {
	for _, name := range offloadFeatures[string(o)] {
		f := features[name]
		on = on || f.active
		if f.available {
			switched = append(switched, name)
		}
	}
	return on, switched, on || len(switched) > 0
}

// featuresOf are all features of an interface.
func (s *session) featuresOf(device asker) (map[string]feature, error) {
	if s.features == nil {
		names, err := readFeatureNames(device)
		if err != nil {
			return nil, err
		}
		s.features = names
	}
	return readFeatures(device, s.features)
}

func (o offload) get(s *session, name string) (string, error) {
	features, err := s.featuresOf(s.ethtool(name))
	if err != nil {
		return "", err
	}
	on, _, here := o.state(features)
	switch {
	case !here:
		return "", errNoOffload
	case on:
		return "1", nil
	}
	return "0", nil
}

var (
	errNoOffload = errors.New("the device cannot do that")
	errFixed     = errors.New("the device does not let it be switched")
)

func (o offload) set(s *session, name, value string) error {
	if value != "0" && value != "1" {
		return errors.New("it is neither 0 nor 1")
	}
	return o.turn(s, s.ethtool(name), value == "1")
}

func (o offload) turn(s *session, device asker, on bool) error {
	features, err := s.featuresOf(device)
	if err != nil {
		return err
	}
	was, which, here := o.state(features)
	switch {
	case !here:
		return errNoOffload
	case was == on:
		return nil
	case len(which) == 0:
		return errFixed
	}
	for _, w := range which {
		if features[w].wanted != features[which[0]].wanted {
			return fmt.Errorf("some of %s are asked for and some are not, which one switch could not put back: use ethtool -K", strings.Join(which, ", "))
		}
	}
	return switchFeatures(device, s.features, which, on)
}

func (o offload) settable(s *session, name string) error {
	features, err := s.featuresOf(s.ethtool(name))
	if err != nil {
		return err
	}
	if _, which, _ := o.state(features); len(which) == 0 {
		return errFixed
	}
	return s.mayConfigure()
}
