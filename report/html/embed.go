package html

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
)

// The element that holds a run: not a script to any browser, since that is no type
// of one, so that the content security policy lets it stand.
const (
	opening = `<script type="application/gzip" class="fullbore-run">`
	closing = `</script>`
)

// embedding are runs as elements of a page, and what was left out of them.
type embedding struct {
	elements string
	note     string
}

// thinnings are tried one after the other: what part of the samples stays, of
// transfers that no figure shows and of all others.
var thinnings = []struct {
	hidden, shown int // every so manyth sample; 0: none
	note          string
}{
	{1, 1, ""},
	{4, 1, "The run that is embedded here has every sample of the transfers that the figures show, and every fourth of the others."},
	{8, 2, "The run that is embedded here has every second sample of the transfers that the figures show, and every eighth of the others."},
	{32, 4, "The run that is embedded here has every fourth sample of the transfers that the figures show, and few of the others."},
	{128, 16, "The run that is embedded here has few of its samples."},
	{0, 128, "The run that is embedded here has next to none of its samples."},
	{0, 0, "The run that is embedded here has none of its samples."},
}

// leastPacked is fewer bytes than a sample takes in a page: of those of real transfers
// each takes 90 to 140. It spares packing, only to see that it was in vain; and keeps
// what is unpacked below what Read takes.
const leastPacked = 30

// bare is the note where not even that fits.
const bare = "The run that is embedded here has its result only, without transfers, hosts and events."

// gentle is up to which of the thinnings a report is made comfortable: the figures of
// what is read back have every second of their samples at least.
const gentle = 2

// embed packs runs into at most so many bytes, and into a comfortable number of them
// where gentle thinning suffices for that.
func embed(runs []*record.Run, comfortable, most int) (embedding, error) {
	for i, thinning := range thinnings {
		less, samples := make(map[*record.Run]*record.Run, len(runs)), 0
		for _, run := range runs {
			less[run] = thinned(run, thinning.hidden, thinning.shown)
			samples += count(less[run])
		}
		if samples*leastPacked > most {
			continue
		}
		elements, err := pack(runs, func(run *record.Run) *record.Run { return less[run] })
		if err != nil {
			return embedding{}, err
		}
		if size := len(elements); size <= most && (i >= gentle || size <= comfortable) {
			return embedding{elements, thinning.note}, nil
		}
	}
	for _, keep := range []func(*record.Run) *record.Run{
		func(run *record.Run) *record.Run { return &record.Run{Header: run.Header, Document: run.Document} },
		func(run *record.Run) *record.Run { return &record.Run{Header: run.Header} },
	} {
		elements, err := pack(runs, keep)
		if err != nil {
			return embedding{}, err
		}
		if len(elements) <= most {
			return embedding{elements, bare}, nil
		}
	}
	return embedding{note: "This run is too large to be embedded: the file cannot be read back."}, nil
}

// pack writes an element for each run.
func pack(runs []*record.Run, keep func(*record.Run) *record.Run) (string, error) {
	var out strings.Builder
	for _, run := range runs {
		kept := *keep(run)
		if kept.Schema == "" {
			kept.Schema = record.Schema
		}
		kept.Document = withoutSamples(kept.Document)
		text, err := json.Marshal(&kept)
		if err != nil {
			return "", fmt.Errorf("run %.40q cannot be embedded: %w", run.ID, err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err = z.Write(text); err == nil {
			err = z.Close()
		}
		if err != nil {
			return "", err
		}
		out.WriteString(opening + "\n")
		encoded := base64.StdEncoding.EncodeToString(packed.Bytes())
		for len(encoded) > lineLength {
			out.WriteString(encoded[:lineLength] + "\n") // mailers and editors dislike lines without an end
			encoded = encoded[lineLength:]
		}
		out.WriteString(encoded + "\n" + closing + "\n")
	}
	return out.String(), nil
}

const lineLength = 512

// thinned is the run with fewer samples; the one that is given stays as it is.
func thinned(run *record.Run, hidden, shown int) *record.Run {
	if hidden == 1 && shown == 1 {
		return run
	}
	figured := map[*bulk.Result]bool{}
	for _, p := range chosen(run) {
		figured[p.result] = true
	}
	less := *run
	less.Transfers = make([]record.Transfer, len(run.Transfers))
	for i, t := range run.Transfers {
		every := hidden
		if figured[t.Result] {
			every = shown
		}
		if t.Result != nil {
			r := *t.Result
			r.Client, r.Server = fewer(r.Client, every), fewer(r.Server, every)
			t.Result = &r
		}
		less.Transfers[i] = t
	}
	return &less
}

// count is how many samples a run has.
func count(run *record.Run) int {
	n := 0
	for _, t := range run.Transfers {
		if t.Result != nil {
			for _, s := range slices.Concat(t.Result.Client.Streams, t.Result.Server.Streams) {
				n += len(s.Samples)
			}
		}
	}
	return n
}

func fewer(e bulk.End, every int) bulk.End {
	streams := make([]bulk.Stream, len(e.Streams))
	for i, s := range e.Streams {
		s.Samples = everyOf(s.Samples, every)
		streams[i] = s
	}
	e.Streams = streams
	return e
}

// everyOf leaves every so manyth sample. Those on both sides of the beginning of the
// measured time stay, and the first and the last: figures are counted from them.
func everyOf(samples []bulk.Sample, every int) []bulk.Sample {
	if every == 1 || len(samples) == 0 {
		return samples
	}
	var kept []bulk.Sample
	for i, s := range samples {
		border := i == 0 || i == len(samples)-1 || s.Omitted != samples[i-1].Omitted || s.Omitted != samples[i+1].Omitted
		if border || every > 0 && i%every == 0 {
			kept = append(kept, s)
		}
	}
	return kept
}
