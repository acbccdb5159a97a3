package diagnose

import (
	"fmt"
	"math"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Add appends a fact. A figure that is not a number says nothing and is left
// out (and JSON has no form for it).
func (f *Finding) Add(name string, value float64, unit, format string, args ...any) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	f.Evidence = append(f.Evidence, Fact{Name: name, Value: value, Unit: unit, Says: fmt.Sprintf(format, args...)})
}

// addGoodput and its kin are facts that most findings share.
func (f *Finding) addGoodput(v *view) {
	if v.Passing == nil {
		f.Add("goodput", float64(v.goodput), "b/s", "%v reached the receiving application", v.goodput)
		return
	}
	way := "was acknowledged"
	if len(v.senders) == 0 {
		way = "arrived"
	}
	rate, over := v.goodputInPassing()
	f.Add("goodput", float64(rate), "b/s", "%v %s, over %.3g s", rate, way, over.Seconds())
}

// addPath adds what the path can carry.
func (f *Finding) addPath(limit unit.Rate, format string, args ...any) {
	f.PathGoodput = limit
	f.Add("path_goodput", float64(limit), "b/s", format, args...)
}

func (f *Finding) addRTT(v *view) {
	says := "round trip of %s while sending, %s at least"
	if v.Passing != nil {
		says = "round trip of %s, %s at least"
	}
	f.Add("rtt", milliseconds(v.rtt), "ms", says, unit.Milliseconds(v.rtt), unit.Milliseconds(v.minRTT))
}

// AddShare appends a share, given as 0 to 1 and written as a percentage.
func (f *Finding) AddShare(name string, share float64, says string) {
	f.Add(name, 100*share, "%", "%.3g %% %s", 100*share, says)
}

// percent writes a share of 0 to 1 with two digits: "0.12 %", "100 %".
func percent(share float64) string {
	if share >= 0.995 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// confidence weighs independent signs: one strong sign is as likely right as
// wrong, every further one that agrees halves the doubt, every one that
// contradicts doubles it. It orders and compares findings; it is not a measured
// frequency.
func confidence(agree, contradict int) float64 {
	doubt := 0.5 * math.Pow(0.5, float64(agree)) * math.Pow(2, float64(contradict))
	return math.Round(100*(1-min(1, doubt))) / 100
}

// count is how many of the signs hold.
func count(signs ...bool) int {
	n := 0
	for _, s := range signs {
		if s {
			n++
		}
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Value gives the number behind one piece of evidence.
func (f *Finding) Value(name string) (value float64, ok bool) {
	for _, fact := range f.Evidence {
		if fact.Name == name {
			return fact.Value, true
		}
	}
	return 0, false
}
