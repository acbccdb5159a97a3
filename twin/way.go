package twin

// way writes one direction of the path: there, from a to b, or back.
func (b *builder) way(there bool) {
	name, link, probed := "b_to_a", b.rates[1], b.back
	if there {
		name, link, probed = "a_to_b", b.rates[0], b.there
	}
	b.set(link.key(), rate(link.rate), "path", name, "rate")
	b.delay(name, there)
	b.queue(name, there)
	b.hole(name, probed)
	if there {
		b.policer(name)
		b.loss(name)
		b.reorder(name)
	} else {
		b.lostBack(name)
	}
	b.clamp(name, there)
	b.stripped(name)
	if there {
		b.set(Key{How: Assumed, Why: "of all that is random: chance in the twin is another than on the path"}, "1", "path", name, "seed")
	} else {
		b.set(Key{How: Assumed, Why: "the same"}, "2", "path", name, "seed")
	}
}
