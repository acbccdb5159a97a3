package tunable

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCatalogueOfAnUnknownSystem(t *testing.T) {
	if _, err := Catalogue("plan9"); err == nil || !strings.Contains(err.Error(), "plan9") {
		t.Errorf("error is %v", err)
	}
	if _, ok := Lookup("plan9", "net.ipv4.tcp_rmem"); ok {
		t.Error("found a tunable of a system that has no catalogue")
	}
}

func TestDefaultByVersion(t *testing.T) {
	for _, tc := range []struct{ name, version, want string }{
		{"net.ipv4.tcp_rmem", "2.6.32-754.el6", "4096 87380 4194304"},
		{"net.ipv4.tcp_rmem", "3.10.0-1160.el7.x86_64", "4096 87380 6291456"},
		{"net.ipv4.tcp_rmem", "6.1.0-18-amd64", "4096 131072 6291456"},
		{"net.ipv4.tcp_rmem", "6.15.9", "4096 131072 6291456"},
		{"net.ipv4.tcp_rmem", "6.16", "4096 131072 33554432"},
		{"net.core.rmem_max", "6.17.1", "212992"},
		{"net.core.rmem_max", "6.18.44-fc", "4194304"},
		{"net.ipv4.tcp_rmem", "unreadable", ""},
		{"net.ipv4.tcp_rmem", "2.4.20", "4096 87380 174760"},
		{"net.ipv4.tcp_rmem", "2.2.26", ""},
		{"net.ipv4.tcp_congestion_control", "2.6.12", ""},
		{"net.ipv4.tcp_congestion_control", "2.6.18-194.el5", "bic"},
		{"net.core.netdev_max_backlog", "2.6.9-89.EL", "300"},
	} {
		known, ok := Lookup("linux", tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		if got, ok := known.Default(tc.version); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s in %s: %q, %v, want %q", tc.name, tc.version, got, ok, tc.want)
		}
	}
}

func TestApplies(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		want          bool
	}{
		{"net.ipv4.tcp_adv_win_scale", "6.5.13", true},
		{"net.ipv4.tcp_adv_win_scale", "6.6", false},
		{"net.ipv4.tcp_adv_win_scale", "6.18.44", false},
		{"net.ipv4.tcp_adv_win_scale", "who knows", false},
		{"net.ipv4.tcp_notsent_lowat", "3.10.0", false},
		{"net.ipv4.tcp_notsent_lowat", "3.12", true},
		{"net.ipv4.tcp_notsent_lowat", "", true},
		{"net.ipv4.tcp_rmem", "2.4.18", true},
	} {
		known, ok := Lookup("linux", tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		if got := known.Applies(tc.version); got != tc.want {
			t.Errorf("%s applies in %q: %v, want %v", tc.name, tc.version, got, tc.want)
		}
	}
}

func TestWhyNot(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		state         State
		why           string
	}{
		{"net.ipv4.tcp_notsent_lowat", "3.10.0", NotYet, "not there before version 3.12"},
		{"net.ipv4.tcp_notsent_lowat", "3.12", Present, ""},
		{"net.ipv4.tcp_adv_win_scale", "6.6", Obsolete, "obsolete since version 6.6: the kernel measures"},
		{"net.ipv4.tcp_adv_win_scale", "", Obsolete, "obsolete since version 6.6: the kernel measures"},
		{"net.ipv4.tcp_bic", "2.4.26", NotYet, "not there before version 2.4.27"},
		{"net.ipv4.tcp_bic", "2.6.12", Present, ""},
		{"net.ipv4.tcp_bic", "2.6.13", Obsolete, "obsolete since version 2.6.13: algorithms became modules"},
	} {
		known, ok := Lookup("linux", tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		state, why := known.In(tc.version), known.WhyNot(tc.version)
		if state != tc.state || !strings.HasPrefix(why, tc.why) || (why == "") != (tc.why == "") {
			t.Errorf("%s in %q: %s, %q, want %s, %q", tc.name, tc.version, state, why, tc.state, tc.why)
		}
	}
}

// A tunable is never both there and obsolete: as versions pass it comes, and goes,
// and does not come back. Its default is that of the last version that changed it.
func TestStatesInOrder(t *testing.T) {
	order := map[State]int{NotYet: 0, Present: 1, Obsolete: 2}
	number := rapid.Custom(func(r *rapid.T) string {
		return join(rapid.SliceOfN(rapid.Int64Range(0, 30), 1, 3).Draw(r, "version"))
	})
	rapid.Check(t, func(r *rapid.T) {
		s, err := Of(rapid.SampledFrom(Systems()).Draw(r, "system"))
		if err != nil {
			r.Fatal(err)
		}
		known := rapid.SampledFrom(s.Tunables).Draw(r, "tunable")
		a := strings.ReplaceAll(number.Draw(r, "a"), " ", ".")
		b := strings.ReplaceAll(number.Draw(r, "b"), " ", ".")
		va, _ := parseVersion(a)
		vb, _ := parseVersion(b)
		if older(vb, va) {
			a, b = b, a
		}
		if order[known.In(a)] > order[known.In(b)] {
			r.Fatalf("%s is %s in %s, %s in %s", known.Name, known.In(a), a, known.In(b), b)
		}
		if known.Applies(a) != (known.WhyNot(a) == "") {
			r.Fatalf("%s in %s: applies %v, %q", known.Name, a, known.Applies(a), known.WhyNot(a))
		}
		if _, ok := known.Default(a); ok {
			if _, ok := known.Default(b); !ok {
				r.Fatalf("%s has a default in %s, none in %s", known.Name, a, b)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct{ name, value, says string }{ // says "" is right
		{"net.ipv4.tcp_rmem", "4096 131072 33554432", ""},
		{"net.ipv4.tcp_rmem", "4096\t131072\t33554432\n", ""},
		{"net.ipv4.tcp_rmem", "4096 4096 4096", ""},
		{"net.ipv4.tcp_rmem", "8388608 131072 4096", "out of order"}, // the kernel takes it
		{"net.ipv4.tcp_rmem", "4096", "three numbers"},               // and this
		{"net.ipv4.tcp_rmem", "0 131072 33554432", "outside 1..2147483647"},
		{"net.ipv4.tcp_rmem", "4096 131072 2147483648", "outside"},
		{"net.ipv4.tcp_rmem", "4096 131072 99999999999999999999", "three numbers"},
		{"net.ipv4.tcp_rmem", "4096 131072 64M", "three numbers"},
		{"net.ipv4.tcp_rmem", "", "three numbers"},
		{"net.core.rmem_max", "4194304", ""},
		{"net.core.rmem_max", "-1", "outside"},
		{"net.core.rmem_max", "1 2", "one number"},
		{"net.ipv4.tcp_mtu_probing", "3", "outside 0..2"}, // the kernel takes it
		{"net.ipv4.tcp_sack", "255", "neither 0 nor 1"},   // and this
		{"net.ipv4.tcp_sack", "1", ""},
		{"net.ipv4.tcp_congestion_control", "bbr", ""},
		{"net.ipv4.tcp_congestion_control", "bbr cubic", "not a name"},
		{"net.ipv4.tcp_congestion_control", "b/b", "has more in it"},
		{"net.ipv4.tcp_congestion_control", "", "not a name"},
		{"net.ipv4.tcp_allowed_congestion_control", "bbr cubic", ""},
		{"net.ipv4.tcp_congestion_control", strings.Repeat("x", 1000), "too long"},
		{"cpu.governor", "performance", ""},
		{"cpu.governor", "fast", "none of performance, powersave"},
		{"cpu.governor", "Performance", "has more in it"},
		{"link.rps_cpus", "f", ""},
		{"link.rps_cpus", "FF", ""},
		{"link.rps_cpus", "00000000,0000000f\n", ""},
		{"link.rps_cpus", "3,ffffffff,00000000", ""},
		{"link.rps_cpus", strings.Repeat("ffffffff,", 255) + "ffffffff", ""}, // as many processors as there can be
		{"link.rps_cpus", strings.Repeat("ffffffff,", 256) + "ffffffff", "too long"},
		{"link.rps_cpus", "", "not a mask"},
		{"link.rps_cpus", "0xf", "not a mask"},
		{"link.rps_cpus", "0-3", "not a mask"},
		{"link.rps_cpus", "fffffffff", "not a mask"}, // nine digits
		{"link.rps_cpus", "f,f", "not a mask"},       // a group has eight
		{"link.rps_cpus", "f,ffffffff,", "not a mask"},
		{"link.rps_cpus", "f f", "not a mask"},
	} {
		known, ok := Lookup("linux", tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		err := known.Check(tc.value)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s = %.40q: %v, want %q", tc.name, tc.value, err, tc.says)
		}
	}
}

func TestRaise(t *testing.T) {
	for _, tc := range []struct {
		name, current, wanted, want string
		raised                      bool
	}{
		{"net.ipv4.tcp_rmem", "4096\t131072\t6291456", "4096 87380 67108864", "4096 131072 67108864", true},
		{"net.ipv4.tcp_rmem", "4096 131072 33554432", "4096 131072 16777216", "4096 131072 33554432", false}, // TuneD's, since 6.16
		{"net.ipv4.tcp_rmem", "8388608 131072 4096", "4096 87380 16777216", "8388608 8388608 16777216", true},
		{"net.ipv4.tcp_rmem", "8388608 131072 4096", "1 1 1", "8388608 131072 4096", false},
		{"net.ipv4.tcp_rmem", "4096 131072 33554432", "67108864", "4096 131072 33554432", false},
		{"net.ipv4.tcp_rmem", "", "4096 131072 33554432", "", false},
		{"net.core.rmem_max", "212992", "4194304", "4194304", true},
		{"net.core.rmem_max", "4194304", "212992", "4194304", false},
		{"net.ipv4.tcp_slow_start_after_idle", "1", "0", "0", true},
		{"net.ipv4.tcp_slow_start_after_idle", "0", "0", "0", false},
		{"net.ipv4.tcp_congestion_control", "cubic", "bbr", "bbr", true},
		{"link.ring.rx", "512", "4096", "4096", true},
		{"link.ring.rx", "8192", "4096", "8192", false},
		{"link.rps_cpus", "00000000,00000000", "f", "f", true},
		{"link.rps_cpus", "00000000,0000000f", "f", "f", false},
	} {
		known, ok := Lookup("linux", tc.name)
		if !ok {
			t.Fatalf("no %s", tc.name)
		}
		got, raised := known.Raise(tc.current, tc.wanted)
		if got != tc.want || raised != tc.raised {
			t.Errorf("%s %q, wanted %q: %q, %v, want %q, %v", tc.name, tc.current, tc.wanted, got, raised, tc.want, tc.raised)
		}
	}
}

// However the kernel pads a mask, it stays the same; another one is another.
func TestSameMask(t *testing.T) {
	known, ok := Lookup("linux", "link.rps_cpus")
	if !ok {
		t.Fatal("no link.rps_cpus")
	}
	groups := rapid.SliceOfN(rapid.Uint32(), 1, 8)
	written := func(groups []uint32, format string) string {
		text := make([]string, len(groups))
		for i, g := range groups {
			text[i] = fmt.Sprintf("%08x", g)
		}
		text[0] = fmt.Sprintf(format, groups[0])
		return strings.Join(text, ",")
	}
	rapid.Check(t, func(r *rapid.T) {
		a := groups.Draw(r, "a")
		zeros := make([]uint32, rapid.IntRange(0, 4).Draw(r, "padding"))
		one, other := written(a, "%x"), written(append(zeros, a...), "%08X")
		if err := known.Check(one); err != nil {
			r.Fatal(err)
		}
		if err := known.Check(other); err != nil {
			r.Fatal(err)
		}
		if !known.Same(one, other) {
			r.Fatalf("%q and %q are the same", one, other)
		}
		b := slices.Clone(a)
		b[rapid.IntRange(0, len(b)-1).Draw(r, "group")] ^= 1 << rapid.IntRange(0, 31).Draw(r, "bit")
		if known.Same(one, written(b, "%08x")) {
			r.Fatalf("%q is not the same as %q", one, written(b, "%08x"))
		}
	})
}

// Whatever is there and whatever is wanted, raising lowers nothing, ends in
// order, has nothing to do a second time, and gives all that was wanted.
func TestRaiseNeverLowers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.SampledFrom([]int{1, 3}).Draw(r, "elements")
		numbers := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), length, length)
		current, wanted := join(numbers.Draw(r, "current")), join(numbers.Draw(r, "wanted"))
		raised, changed := Raise(current, wanted)
		if Lowers(current, raised) {
			r.Fatalf("%q became %q", current, raised)
		}
		if changed == (raised == current) {
			r.Fatalf("%q became %q, said %v", current, raised, changed)
		}
		if Lowers(wanted, raised) {
			r.Fatalf("%q became %q although %q was wanted", current, raised, wanted)
		}
		if again, more := Raise(raised, wanted); more || again != raised {
			r.Fatalf("%q became %q, then %q", current, raised, again)
		}
		if have, _ := parse(strings.Fields(raised)); changed && !ordered(have) {
			r.Fatalf("%q became %q", current, raised)
		}
	})
}

func FuzzCheck(f *testing.F) {
	var entries []Tunable
	for _, id := range Systems() {
		of, err := Catalogue(id)
		if err != nil {
			f.Fatal(err)
		}
		entries = append(entries, of...)
	}
	for i, value := range []string{"4096 131072 33554432", "bbr", "-1", "00000000,0000000f"} {
		f.Add(uint(i), value)
	}
	f.Fuzz(func(t *testing.T, which uint, value string) {
		e := entries[which%uint(len(entries))]
		if e.Check(value) != nil {
			return
		}
		// What passes is plain text, whose form does not matter.
		if diff := cmp.Diff(Normalise(value), Normalise(Normalise(value))); diff != "" {
			t.Error(diff)
		}
		if err := e.Check(Normalise(value)); err != nil {
			t.Errorf("%q passes, in normal form: %v", value, err)
		}
		if strings.ContainsAny(Normalise(value), "\n\r\x00#=/") {
			t.Errorf("%q passes for %s", value, e.Name)
		}
	})
}

func ordered(numbers []int64) bool {
	for i := range numbers {
		if i > 0 && numbers[i] < numbers[i-1] {
			return false
		}
	}
	return true
}

func join(numbers []int64) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return strings.Join(words, " ")
}
