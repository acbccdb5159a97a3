package job

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/clock"
)

// TestOrderIsChecked: what comes over the network is an order that can be done, or an error that says
// what is wrong.
func TestOrderIsChecked(t *testing.T) {
	good := func() Order {
		return Order{Schema: Schema, Kind: Transfer, To: "198.18.0.2:5201", Place: Place{"id", "cookie", time.Second}, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: time.Second}}
	}
	if o := good(); o.Check() != nil {
		t.Fatal(o.Check())
	}
	for want, spoil := range map[string]func(*Order){
		`schema "fullbore/job/2"`:       func(o *Order) { o.Schema = "fullbore/job/2" },
		`kind "swim"`:                   func(o *Order) { o.Kind = "swim" },
		"does not say what to do":       func(o *Order) { o.Kind = Sweep },
		"a sweep without an experiment": func(o *Order) { o.Kind, o.Task = Sweep, &Task{} },
		"a tuning with a budget of 1h":  func(o *Order) { o.Kind, o.Task = Tuning, &Task{Budget: time.Hour} },
		"it is not said what they are": func(o *Order) {
			o.Kind, o.Task = Requests, &Task{NFS: &NFS{File: "nfs://a/b/c", Size: 1, Connections: 2, Depth: 1}}
		},
		"requests for 2h0m0s": func(o *Order) {
			o.Kind, o.Task = Requests, &Task{NFS: &NFS{File: "nfs://a/b/c", Size: 1, Connections: 1, Depth: 1, Duration: 2 * time.Hour}}
		},
		"no host was given;":            func(o *Order) { o.Kind, o.To = Diagnosis, "" },
		"without a place":               func(o *Order) { o.Place.Cookie = "" },
		"use direction forward":         func(o *Order) { o.Spec.Direction = bulk.Both },
		"longer than a job may be":      func(o *Order) { o.Spec.Duration = Longest + 1 },
		"no host was given":             func(o *Order) { o.To = "" },
		"is not a port from 1 to 65535": func(o *Order) { o.To = "host:0" },
		"streams":                       func(o *Order) { o.Spec.Streams = 0 },
	} {
		o := good()
		spoil(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOrdersWithoutTransfer: what another kind of order has no use for is not looked at.
func TestOrdersWithoutTransfer(t *testing.T) {
	for _, o := range []Order{
		{Schema: Schema, Kind: Rehearsal},
		{Schema: Schema, Kind: Diagnosis, To: "host:5201"},
		{Schema: Schema, Kind: Tuning, To: "host:5201", Task: &Task{Budget: time.Minute}},
		{Schema: Schema, Kind: Sweep, To: "host:5201", Task: &Task{Experiment: "name: x"}},
		{Schema: Schema, Kind: Requests, Task: &Task{NFS: &NFS{File: "nfs://a/b/c", Op: "read", Size: 4096, Connections: 2, Depth: 64, Duration: time.Minute}}},
	} {
		if err := o.Check(); err != nil {
			t.Errorf("%s: %v", o.Kind, err)
		}
	}
}

// TestReport: what is too long to be carried is cut, and what cannot be a report is not believed.
func TestReport(t *testing.T) {
	r, err := NewReport(1e6, 10, strings.Repeat("x", MostOfDocument), strings.Repeat("y", 2*MostOfLine))
	if err != nil || r.Check() != nil || r.Document != nil || len(r.Says[0]) > MostOfLine {
		t.Errorf("%v: %.100v", err, r)
	}
	if r, err = NewReport(1e6, 10, map[string]int{"a": 1}, make([]string, 2*MostLines)...); err != nil || r.Check() != nil || string(r.Document) != `{"a":1}` || len(r.Says) != MostLines {
		t.Errorf("%v: %+v", err, r)
	}
	if _, err := NewReport(1, 1, math.NaN()); err == nil {
		t.Error("a document that is none")
	}
	for name, bad := range map[string]Report{
		"a goodput of minus": {Goodput: -1},
		"an endless one":     {Goodput: math.Inf(1)},
		"bytes taken back":   {Bytes: -1},
		"too many lines":     {Says: make([]string, MostLines+1)},
		"a line too long":    {Says: []string{strings.Repeat("x", MostOfLine+1)}},
	} {
		if (&Status{Report: &bad}).Check() == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

// TestFindingIsChecked: nor is a finding believed that cannot be one.
func TestFindingIsChecked(t *testing.T) {
	good := Finding{Cause: "random-loss", Confidence: 0.9, Says: "1 % is lost", Goodput: 1e6}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Finding){
		"no cause":          func(f *Finding) { f.Cause = "" },
		"an endless text":   func(f *Finding) { f.Says = strings.Repeat("x", 5000) },
		"more than sure":    func(f *Finding) { f.Confidence = 1.1 },
		"no confidence":     func(f *Finding) { f.Confidence = math.NaN() },
		"a negative rate":   func(f *Finding) { f.Goodput = -1 },
		"a boundless rate":  func(f *Finding) { f.Goodput = math.Inf(1) },
		"less than nothing": func(f *Finding) { f.Confidence = -0.1 },
	} {
		f := good
		spoil(&f)
		if f.Check() == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestOutcomeIsChecked: so is what a host says of it.
func TestOutcomeIsChecked(t *testing.T) {
	if err := (&Outcome{Retransmits: -1, Arrived: []Point{{1, 2}, {3, 2}}}).Check(); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]Outcome{
		"a negative rate":        {Goodput: -1},
		"no number":              {Seconds: math.NaN()},
		"without end":            {Omitted: math.Inf(1)},
		"before the clock began": {Began: -1},
		"a negative time":        {LeastRTT: -1},
		"more than can be":       {Arrived: make([]Point, MostPoints+1)},
		"less later":             {Arrived: []Point{{1, 2}, {2, 1}}},
		"back in time":           {Arrived: []Point{{2, 1}, {1, 1}}},
		"half a retransmission":  {Retransmits: -2},
	} {
		if o.Check() == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestNewOutcome: bytes of all streams are added up, from the receiver's first one on.
func TestNewOutcome(t *testing.T) {
	sample := func(at time.Duration, bytes int64) bulk.Sample {
		return bulk.Sample{At: at * time.Millisecond, Bytes: bytes}
	}
	began := time.Now()
	r := &bulk.Result{
		Spec:   bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: time.Second, Omit: 100 * time.Millisecond},
		Client: bulk.End{First: began, Streams: []bulk.Stream{{ID: 1, Sender: true, Bytes: 300, Elapsed: time.Second, Congestion: "cubic", Retransmits: 3}}},
		Server: bulk.End{Streams: []bulk.Stream{
			{ID: 1, Began: 600 * time.Millisecond, Bytes: 200, Elapsed: time.Second, Retransmits: -1, Samples: []bulk.Sample{sample(500, 0), sample(700, 100), sample(900, 200)}},
			{ID: 2, Began: 600 * time.Millisecond, Bytes: 50, Elapsed: time.Second, Retransmits: -1, Samples: []bulk.Sample{sample(500, 0), sample(700, 50)}}, // it ended
		}},
	}
	o := NewOutcome(r)
	if o == nil || o.Check() != nil {
		t.Fatalf("%+v", o)
	}
	if o.Began != clock.At(began) || o.Omitted != 0.1 || o.Congestion != "cubic" {
		t.Errorf("%+v", o)
	}
	if len(o.Arrived) != 3 || o.Arrived[0] != (Point{0, 0}) || o.Arrived[1] != (Point{200 * time.Millisecond, 150}) || o.Arrived[2].Bytes < 150 {
		t.Errorf("arrived: %+v", o.Arrived)
	}
	r.Client.First = time.Time{}
	if o := NewOutcome(r); o != nil {
		t.Errorf("of a transfer that never began: %+v", o)
	}
	for range 10 * MostPoints {
		r.Server.Streams[0].Samples = append(r.Server.Streams[0].Samples, sample(time.Duration(1000+len(r.Server.Streams[0].Samples)), 300))
	}
	r.Client.First = began
	if o := NewOutcome(r); len(o.Arrived) > MostPoints || o.Check() != nil {
		t.Errorf("%d points, %v", len(o.Arrived), o.Check())
	}
}
