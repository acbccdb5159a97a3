package record

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
)

// Whatever a sample holds comes back as it was.
func TestSamplesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := make([]bulk.Sample, rapid.IntRange(0, 40).Draw(t, "samples"))
		for i := range samples {
			if rapid.Bool().Draw(t, "udp") {
				samples[i].UDP = &bulk.Datagrams{}
			}
			fill(t, reflect.ValueOf(&samples[i]).Elem())
		}
		packed, err := pack(samples)
		if err != nil {
			t.Fatal(err)
		}
		back, err := unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(samples, back); d != "" && len(samples)+len(back) > 0 {
			t.Fatal(d)
		}
	})
}

// fill draws every number of a value, the extremes among them.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(t, v.Elem())
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "float"))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		bits := v.Type().Bits()
		v.SetUint(rapid.Uint64().Draw(t, "unsigned") << (64 - bits) >> (64 - bits))
	default:
		bits := v.Type().Bits()
		v.SetInt(rapid.Int64().Draw(t, "signed") << (64 - bits) >> (64 - bits))
	}
}

// Every number of a sample has a column, with the name that it has in JSON.
func TestColumnsAreAllOfASample(t *testing.T) {
	text, err := json.Marshal(bulk.Sample{Omitted: true, UDP: &bulk.Datagrams{Malformed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	leaves := 0
	var walk func(prefix string, tree map[string]any)
	walk = func(prefix string, tree map[string]any) {
		for key, value := range tree {
			if inner, ok := value.(map[string]any); ok {
				walk(prefix+key+".", inner)
				continue
			}
			leaves++
			if columnNamed[prefix+key] == nil {
				t.Errorf("%s has no column", prefix+key)
			}
		}
	}
	walk("", tree)
	if want := leaves + 1; len(columns) != want { // one more says whether there is UDP
		t.Errorf("%d columns, want %d", len(columns), want)
	}
}

// FuzzUnpack: a database may hold anything; it makes no panic, and takes no more
// memory than its size explains.
func FuzzUnpack(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		packed, err := pack(make([]bulk.Sample, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	packed, err := pack([]bulk.Sample{{At: 1, Bytes: 2, TCP: bulk.TCPInfo{RTT: 3}}, {At: 4, UDP: &bulk.Datagrams{Jitter: 0.5}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Fuzz(func(t *testing.T, packed []byte) {
		samples, err := unpack(packed)
		if err != nil {
			return
		}
		again, err := pack(samples)
		if err != nil {
			t.Fatal(err)
		}
		back, err := unpack(again)
		if err != nil || len(back) != len(samples) {
			t.Fatalf("%d samples came back as %d: %v", len(samples), len(back), err)
		}
	})
}
