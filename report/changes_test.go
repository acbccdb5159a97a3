package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/change"
)

func TestChangeSet(t *testing.T) {
	created := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		set  change.Set
		want string
	}{
		{"live", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Live, Reason: "tune", Created: created, Deadline: created.Add(100 * time.Second),
			Values: []change.Value{
				{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Live, Now: "1 2 4"},
				{Tunable: "net.ipv4.tcp_sack", Old: "0", New: "0", State: change.Reverted, Now: "0"},
			},
		}, `
20261120-120000-a1b2c3  live, reverts in 10s unless confirmed, 1 minute old: tune
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  as set
  net.ipv4.tcp_sack  0      -> 0      reverted
  keep it: fullbore confirm 20261120-120000-a1b2c3
  undo it: fullbore revert 20261120-120000-a1b2c3
`},
		{"kept, and drifted", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Confirmed, Persist: true, Reason: "tune", Created: created.Add(-49 * time.Hour),
			Note: "another file overrides it",
			Values: []change.Value{
				{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Live, Now: "1 2 9"},
				{Tunable: "net.ipv4.tcp_wmem", Old: "1 2 3", New: "1 2 4", State: change.Live},
			},
		}, `
20261120-120000-a1b2c3  confirmed, also after a reboot, 2 days old: tune
  note: another file overrides it
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  now 1 2 9
  net.ipv4.tcp_wmem  1 2 3  -> 1 2 4  now unknown
  undo it: fullbore revert 20261120-120000-a1b2c3
`},
		{"booted since, and drifted", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Confirmed, Persist: true, Reason: "tune", Created: created, Booted: true,
			Values: []change.Value{
				{
					Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Live, Now: "1 2 3", Drift: "did not come back with the boot: now 1 2 3",
					AtBoot: &change.Source{File: "/usr/lib/sysctl.d/50-x.conf", Line: 7, Value: "1 2 3"},
				},
				{Tunable: "net.ipv4.tcp_wmem", Old: "1 2 3", New: "1 2 4", State: change.Live, Now: "1 2 4", AtBoot: &change.Source{}},
			},
		}, `
20261120-120000-a1b2c3  confirmed, also after a reboot, 1 minute old: tune
  the host was booted since: 1 of 2 values came back
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  did not come back with the boot: now 1 2 3  at boot before: 1 2 3 (/usr/lib/sysctl.d/50-x.conf:7)
  net.ipv4.tcp_wmem  1 2 3  -> 1 2 4  as set
  undo it: fullbore revert 20261120-120000-a1b2c3
`},
		{"cut short", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Applying, Reason: "apply", Created: created, Deadline: created.Add(100 * time.Second),
			Values: []change.Value{{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Applying, Now: "1 2 3"}},
		}, `
20261120-120000-a1b2c3  applying, reverts in 10s, 1 minute old: apply
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  cut short, now 1 2 3
  undo it: fullbore revert 20261120-120000-a1b2c3
`},
		{"late", change.Set{ID: "20261120-120000-a1b2c3", State: change.Live, Reason: "apply", Created: created, Deadline: created}, `
20261120-120000-a1b2c3  live, to be reverted at once, 1 minute old: apply
  undo it: fullbore revert 20261120-120000-a1b2c3
`},
		{"someone else's", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Lost, Reason: "tune", Created: created, Note: "on request",
			Values: []change.Value{{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Lost}},
		}, `
20261120-120000-a1b2c3  reverted, except what someone else has changed, 1 minute old: tune
  note: on request
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  left alone
`},
		{"elsewhere", change.Set{
			ID: "20261120-120000-a1b2c3", State: change.Confirmed, Reason: "tune", Created: created, Elsewhere: true,
			Values: []change.Value{{Tunable: "net.ipv4.tcp_rmem", Old: "1 2 3", New: "1 2 4", State: change.Live}},
		}, `
20261120-120000-a1b2c3  confirmed in another network namespace, until the next reboot, 1 minute old: tune
  net.ipv4.tcp_rmem  1 2 3  -> 1 2 4  now unknown
  undo it there: fullbore revert 20261120-120000-a1b2c3
`},
		{"over", change.Set{ID: "20261120-120000-a1b2c3", State: change.Reverted, Reason: "tune", Created: created.Add(90 * time.Second)}, `
20261120-120000-a1b2c3  reverted, 0 seconds old: tune
`},
		{"unreadable", change.Set{ID: "20261120-120000-a1b2c3", State: change.Unreadable, Created: created, Trouble: "journal x cannot be read"}, `
20261120-120000-a1b2c3  unreadable, 1 minute old
  trouble: journal x cannot be read
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if err := changeSet(&out, &tc.set, created.Add(90*time.Second)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, "\n"+out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecent(t *testing.T) {
	var sets []change.Set
	touched := []change.Value{{Tunable: "net.ipv4.tcp_rmem"}}
	for range endedShown + 2 {
		sets = append(sets, change.Set{State: change.Reverted}, change.Set{State: change.Reverted, Values: touched})
	}
	sets = append(sets, change.Set{State: change.Confirmed}, change.Set{State: change.Unreadable, Trouble: "garbage"})
	shown, older := recent(sets)
	if len(shown) != endedShown+2 || older != 2 || shown[endedShown].State != change.Confirmed || shown[endedShown+1].State != change.Unreadable {
		t.Errorf("%d shown, %d older: %v", len(shown), older, shown)
	}
}

func TestChangeSets(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var sets []change.Set
	for range endedShown + 2 {
		sets = append(sets, change.Set{ID: "1", State: change.Reverted, Created: now, Values: []change.Value{{Tunable: "x"}}})
	}
	for _, test := range []struct {
		name  string
		write func(*strings.Builder) error
		want  string // end of what is written
		times int    // that sets are written
	}{
		{"none", func(w *strings.Builder) error { return ChangeSets(w, nil, now) }, "no change sets\n", 0},
		{"all", func(w *strings.Builder) error { return ChangeSets(w, sets, now) }, "", endedShown + 2},
		{"recent", func(w *strings.Builder) error { return RecentChangeSets(w, sets, now) }, "\n2 older, which are over: see them with: fullbore status --json\n", endedShown},
		{"few", func(w *strings.Builder) error { return RecentChangeSets(w, sets[:1], now) }, "", 1},
	} {
		var out strings.Builder
		if err := test.write(&out); err != nil || !strings.HasSuffix(out.String(), test.want) || strings.Count(out.String(), "0 seconds old") != test.times {
			t.Errorf("%s: %v\n%s", test.name, err, &out)
		}
	}
}
