package change

import (
	"testing"

	"github.com/fullbore/fullbore/tunable"
)

// What the catalogue keeps in sysctl.d or in a rule of udev is in the files that
// change sets write.
func TestHomes(t *testing.T) {
	catalogue, err := tunable.Catalogue("linux")
	if err != nil {
		t.Fatal(err)
	}
	files := map[tunable.HomeKind]string{tunable.InSysctl: "/" + sysctlFile, tunable.InUdev: "/" + udevFile}
	found := map[tunable.HomeKind]int{}
	for _, k := range catalogue {
		found[k.Home.Kind]++
		if want, ours := files[k.Home.Kind]; ours && k.Home.File != want {
			t.Errorf("%s is kept in %s, want %s", k.Name, k.Home.File, want)
		}
	}
	for kind := range files {
		if found[kind] == 0 {
			t.Errorf("nothing is kept in a home of kind %s", kind)
		}
	}
}
