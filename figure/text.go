package figure

import "github.com/fullbore/fullbore/printable"

// Text is 12 units high in every figure.
const (
	fontSize = 12.0
	ascent   = 10.0 // of fontSize, above the baseline
	descent  = 3.0
	line     = 17.0 // from one line of text to the next
)

// widths are the advances of the characters from the blank to the tilde, in
// thousandths of the font's size, in DejaVu Sans. It and Verdana, of the same
// widths, are the widest that a system's sans-serif commonly is: what fits in them
// fits in all others.
var widths = [...]int{
	318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337,
	637, 637, 637, 637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531,
	1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 295, 656, 558, 863, 749, 788,
	604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838, 500,
	500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612,
	635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
}

// other is the width of a character that is not in widths; one that takes two
// columns of a terminal is wider.
const (
	other = 850
	wide  = 1100
)

// width is how much room a text takes at most.
func width(text string) float64 {
	sum := 0
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~':
			sum += widths[r-' ']
		case printable.Width(string(r)) > 1:
			sum += wide
		default:
			sum += other
		}
	}
	return float64(sum) * fontSize / 1000
}

// bolder is how much wider a bold text is than a plain one, at most: the i of DejaVu
// Sans grows most among the letters, but no word is of that alone.
const bolder = 1.2

// boldWidth is how much room a text of the class "name" takes at most.
func boldWidth(text string) float64 { return bolder * width(text) }

// fit makes text from elsewhere one line of at most that width.
func fit(text string, most float64) string {
	text = safe(text)
	if width(text) <= most {
		return text
	}
	cut := []rune(text)
	for len(cut) > 0 && width(string(cut))+other*fontSize/1000 > most {
		cut = cut[:len(cut)-1]
	}
	return string(cut) + "…"
}

// fitBold does so for a text of the class "name".
func fitBold(text string, most float64) string { return fit(text, most/bolder) }
