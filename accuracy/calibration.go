package main

import "math"

// bin is the verdicts of about the same confidence.
type bin struct {
	From       float64 `json:"from"`
	Below      float64 `json:"below"`
	Verdicts   int     `json:"verdicts"`
	Confidence float64 `json:"mean_confidence"`
	Right      float64 `json:"right"` // share
	Low        float64 `json:"low"`   // 95 % interval
	High       float64 `json:"high"`
}

// calibration says how far confidence can be trusted: of verdicts with a
// confidence of 0.8, four in five should be right.
type calibration struct {
	Bins []bin `json:"bins"`

	// Brier is the mean of (confidence - right)^2, with right 0 or 1: 0 is
	// perfect, 0.25 what always saying 0.5 gets (G. W. Brier, "Verification of
	// forecasts expressed in terms of probability", Monthly Weather Review 78,
	// 1950).
	Brier    float64 `json:"brier"`
	Verdicts int     `json:"verdicts"`
}

// edges of the bins. Findings below 0.5 become no verdicts; most are sure, so
// that the bins narrow towards 1.
var edges = []float64{0, 0.5, 0.7, 0.8, 0.9, 0.95, 1}

// calibrate leaves out those who said that they do not know: that claims nothing.
func calibrate(outcomes []outcome) calibration {
	var c calibration
	sum := 0.0
	for i, from := range edges[:len(edges)-1] {
		b := bin{From: from, Below: edges[i+1]}
		right, confidence := 0, 0.0
		for k := range outcomes {
			o := &outcomes[k]
			last := b.Below == 1 && o.Confidence >= 1
			if o.Invalid || o.unknown() || o.Confidence < b.From || o.Confidence >= b.Below && !last {
				continue
			}
			b.Verdicts++
			confidence += o.Confidence
			is := 0.0
			if o.right() {
				right++
				is = 1
			}
			sum += (o.Confidence - is) * (o.Confidence - is)
		}
		if b.Verdicts > 0 {
			b.Confidence = confidence / float64(b.Verdicts)
			b.Right, b.Low, b.High = wilson(right, b.Verdicts)
			c.Bins = append(c.Bins, b)
		}
		c.Verdicts += b.Verdicts
	}
	c.Brier = math.NaN()
	if c.Verdicts > 0 {
		c.Brier = sum / float64(c.Verdicts)
	}
	return c
}
