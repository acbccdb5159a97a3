package tunable

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Every entry says what it is, where that is from, and keeps its own rules.
func TestCatalogue(t *testing.T) {
	name := regexp.MustCompile(`^net\.(core|ipv4)\.[a-z0-9_]+$`)
	entries, err := Catalogue("linux")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) {
			if !name.MatchString(e.Name) || seen[e.Name] {
				t.Errorf("name %q is not one, or is there twice", e.Name)
			}
			seen[e.Name] = true
			for what, text := range map[string]string{"about": e.About, "effect": string(e.Effect), "risk": e.Risk, "source": e.Source.Title} {
				if text == "" || text != strings.TrimSpace(text) {
					t.Errorf("%s is %q", what, text)
				}
			}
			if at, err := url.Parse(e.Source.URL); err != nil || at.Scheme != "https" || at.Host == "" {
				t.Errorf("source is at %q (%v)", e.Source.URL, err)
			}
			if !slices.Contains([]Scope{OfNamespace, OfHost, OfInterface, OfMount, OfRoute}, e.Scope) {
				t.Errorf("scope is %q", e.Scope)
			}
			if numbers := e.Kind == Int || e.Kind == Triplet; numbers != (e.Max > e.Min) {
				t.Errorf("kind %s has range %d..%d", e.Kind, e.Min, e.Max)
			}
			if e.Rising && (e.Unit != "bytes" || e.Leave != "") {
				t.Errorf("only sizes that may be changed are rising; unit %q, leave %q", e.Unit, e.Leave)
			}
			if e.Leave == "" && len(e.Defaults) == 0 {
				t.Error("may be changed, but has no default")
			}
			checkDefaults(t, &e)
		})
	}
	if len(entries) < 12 {
		t.Errorf("%d entries are too few", len(entries))
	}
}

func checkDefaults(t *testing.T, e *Tunable) {
	var last []int
	for _, d := range e.Defaults {
		version, ok := parseVersion(d.From)
		if !ok || last != nil && !older(last, version) {
			t.Errorf("default from %q: not a version, or not in order", d.From)
		}
		last = version
		if err := e.Check(d.Value); err != nil || d.Value != Normalise(d.Value) {
			t.Errorf("default %q: %v", d.Value, err)
		}
	}
}

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
		{"net.ipv4.tcp_rmem", "2.4.20", ""},
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

// Whatever is there and whatever is wanted, raising lowers nothing, ends in
// order, has nothing to do a second time, and gives all that was wanted.
func TestRaiseNeverLowers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.SampledFrom([]int{1, 3}).Draw(r, "elements")
		numbers := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), length, length)
		current, wanted := join(numbers.Draw(r, "current")), join(numbers.Draw(r, "wanted"))
		raised, any := Raise(current, wanted)
		if Lowers(current, raised) {
			r.Fatalf("%q became %q", current, raised)
		}
		if any == (raised == current) {
			r.Fatalf("%q became %q, said %v", current, raised, any)
		}
		if Lowers(wanted, raised) {
			r.Fatalf("%q became %q although %q was wanted", current, raised, wanted)
		}
		if again, more := Raise(raised, wanted); more || again != raised {
			r.Fatalf("%q became %q, then %q", current, raised, again)
		}
		if have, _ := parse(strings.Fields(raised)); any && !ordered(have) {
			r.Fatalf("%q became %q", current, raised)
		}
	})
}

func FuzzCheck(f *testing.F) {
	entries, err := Catalogue("linux")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("4096 131072 33554432")
	f.Add("bbr")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, value string) {
		for _, e := range entries {
			if e.Check(value) != nil {
				continue
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
