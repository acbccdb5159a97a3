package intake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var some = Bounds{Bytes: 100, Elements: 5, Members: 3}

// What is just within the bounds is read, and one more is not, however the text
// comes in.
func TestBounds(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	wide := Bounds{Bytes: 1 << 20, Elements: 1 << 20, Members: 1 << 20}
	for text, c := range map[string]struct {
		bounds Bounds
		says   string // "": it is read
	}{
		`[1,2,3,4,5]`:                       {some, ""},
		`[1,2,3,4,5,6]`:                     {some, "over 5 elements"},
		`[[1,2],[3]]`:                       {some, ""},
		`[[1,2],[3],4]`:                     {some, "over 5 elements"},
		`{"a":1,"b":[1,2],"c":3}`:           {some, ""},
		`{"a":1,"b":2,"c":3,"d":4}`:         {some, "over 3 members"},
		`{"a":{"b":1,"c":2,"d":3},"e":3}`:   {some, ""},
		`{"a":{"b":1,"c":2,"d":3,"e":4}}`:   {some, "over 3 members"},
		`["[,[{,\"[{",",,,,,,,\\",",,"]`:    {some, ""}, // within strings nothing counts
		`"` + strings.Repeat("a", 98) + `"`: {some, ""},
		`"` + strings.Repeat("a", 99) + `"`: {some, "over 100 bytes"},
		deep(MaxDepth):                      {wide, ""},
		deep(MaxDepth + 1):                  {wide, "over 16 levels"},
		`[1`:                                {some, "unexpected EOF"},
		``:                                  {some, "unexpected EOF"},
		`1 2`:                               {some, "follows"},
		`1 ]`:                               {some, "invalid character"},
		`}}}]]]`:                            {some, "invalid character"},
		`,,,,,,,,,`:                         {some, "invalid character"},
	} {
		for how, reader := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "in single bytes": iotest.OneByteReader} {
			var got any
			err := c.bounds.Decode(reader(strings.NewReader(text)), &got)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v, want %q", text, how, err, c.says)
			}
			if strings.HasPrefix(c.says, "over") != errors.Is(err, ErrTooMuch) {
				t.Errorf("%s %s: %v", text, how, err)
			}
		}
	}
}

// What is within the bounds is read as without any.
func TestDecodesLikeJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		bounds := Bounds{Bytes: int64(len(text)), Members: max(1, int64(len(value)))}
		for _, list := range value {
			bounds.Elements += max(1, int64(len(list)))
		}
		var want, got map[string][]string
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := bounds.Decode(bytes.NewReader(text), &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		bounds.Bytes--
		if err := bounds.Decode(bytes.NewReader(text), &got); !errors.Is(err, ErrTooMuch) {
			t.Fatalf("with a byte less: %v", err)
		}
	})
}

// However much comes, it costs no more memory than there may be text.
func TestMemoryIsBounded(t *testing.T) {
	type large struct {
		Name string
		Pad  [100]int
	}
	bounds := Bounds{Bytes: 1 << 20, Elements: 100, Members: 100}
	for name, unit := range map[string]string{"elements": "{},", "lists": "[", "objects": `{"":`, "members": `"a":1,`, "blanks": " ", "a string": "a"} {
		endless := &repeated{start: map[string]string{"elements": "[", "members": "{", "a string": `["`}[name], unit: unit}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var got []large
		err := bounds.Decode(endless, &got)
		runtime.ReadMemStats(&after)
		if err == nil || endless.given > 4*bounds.Bytes {
			t.Errorf("%s: %v, after %d bytes", name, err, endless.given)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 8*uint64(bounds.Bytes) {
			t.Errorf("%s: it took %s", name, fmt.Sprint(cost))
		}
	}
}

// repeated is a text without an end.
type repeated struct {
	start, unit string
	given       int64
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.start)
	r.start = r.start[n:]
	for n+len(r.unit) <= len(p) {
		n += copy(p[n:], r.unit)
	}
	r.given += int64(n)
	return n, nil
}
