package tune

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is proven is not thrown away because a host cannot keep it over a boot:
// it stays until then, and the user is told on which host, why, and what to do.
func TestConfirm(t *testing.T) {
	for _, test := range []struct {
		name      string
		apply     Mode
		fails     string // of the near host's calls
		asked     []string
		sets      []ChangeSet
		untilBoot []string
		advice    string
		err       bool
	}{
		{"live", ApplyLive, "", []string{"confirm 1 false"}, []ChangeSet{{"a", "1", "fullbore revert 1", false}}, nil, "", false},
		{"persist", ApplyPersist, "", []string{"confirm 1 true"}, []ChangeSet{{"a", "1", "fullbore revert 1", true}}, nil, "", false},
		{
			"persisting is refused", ApplyPersist, "confirm 1 true", []string{"confirm 1 true", "confirm 1 false"},
			[]ChangeSet{{"a", "1", "fullbore revert 1", false}}, []string{"a"}, "until the next boot only: no; ", false,
		},
		{"everything is refused", ApplyPersist, "confirm", []string{"confirm 1 true", "confirm 1 false"}, nil, nil, "", true},
		{"it is not kept", ApplyLive, "confirm", []string{"confirm 1 false"}, nil, nil, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			near := &book{fails: test.fails}
			e := newEnd("a", near)
			e.held.ID = "1"
			tuning := &tuning{o: Options{Apply: test.apply}, result: &Result{Apply: test.apply}}
			if err := tuning.confirm(t.Context(), e); (err != nil) != test.err {
				t.Errorf("error is %v", err)
			}
			if d := cmp.Diff(test.asked, near.asked); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			r := tuning.result
			if d := cmp.Diff(test.sets, r.ChangeSets); d != "" {
				t.Errorf("change sets (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.untilBoot, r.UntilBoot()); d != "" {
				t.Errorf("until the next boot (-want +got):\n%s", d)
			}
			if test.advice == "" {
				if len(r.Advice) != 0 {
					t.Errorf("advice %+v", r.Advice)
				}
				return
			}
			if len(r.Advice) != 1 || !strings.Contains(r.Advice[0].Says, test.advice) || r.Advice[0].Commands[0] != "fullbore confirm 1 --persist" {
				t.Errorf("advice %+v", r.Advice)
			}
		})
	}
}
