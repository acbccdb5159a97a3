package metrics

import (
	"context"
	"encoding/json"
	"math"

	"github.com/fullbore/fullbore/record"
)

// figures are what only a run's document has; 0: it does not.
type figures struct {
	rtt, loaded             float64 // s
	gain, gainLow, gainHigh float64 // factors
}

// document is what is read of those of test, diagnose and tune (docs/json.md).
type document struct {
	Path struct {
		RTT struct {
			Median float64 `json:"median_ns"`
		} `json:"rtt"`
	} `json:"path"`
	Gain     float64   `json:"gain"`
	GainCI95 []float64 `json:"gain_ci95"`
	Latency  struct {
		After float64 `json:"after"`
	} `json:"latency_under_load_ms"`
	Fullbore struct {
		Figures []struct {
			Loaded struct {
				Median float64 `json:"median_ns"`
			} `json:"loaded_rtt"`
		} `json:"figures"`
	} `json:"fullbore"`
}

// largestDocument that is read for its figures: that of a transfer of an hour with a
// row a second is within it.
const largestDocument = 4 << 20

// readFigures reads the document of a run. One that cannot be understood, as an
// imported run may have, has no figures; the error is the store's.
func readFigures(ctx context.Context, store *record.Store, h *record.Header) (f figures, err error) {
	switch h.Kind {
	case record.Test, record.Diagnose, record.Tune:
	default:
		return f, nil
	}
	var text json.RawMessage
	found, err := store.Document(ctx, h.ID, largestDocument, &text)
	if err != nil || !found {
		return f, err
	}
	d := understood(text)
	f.rtt = d.Path.RTT.Median / 1e9
	if len(d.Fullbore.Figures) > 0 {
		f.loaded = d.Fullbore.Figures[0].Loaded.Median / 1e9
	}
	if h.Kind == record.Tune {
		f.loaded = d.Latency.After / 1e3
		f.gain = d.Gain
		if len(d.GainCI95) == 2 {
			f.gainLow, f.gainHigh = d.GainCI95[0], d.GainCI95[1]
		}
	}
	return f, nil
}

// understood is what can be read of a document; nothing if its keys have other types.
func understood(text json.RawMessage) (d document) {
	if json.Unmarshal(text, &d) != nil {
		return document{}
	}
	return d
}

// known says whether a figure is one: what is not known is 0 in documents.
func known(v float64) bool { return v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }
