package diagnose

import "slices"

// rule is one cause: how it shows in the evidence, and which other causes explain
// the same signs better.
type rule struct {
	cause  string
	look   func(*view) *Finding // nil: the evidence does not point there
	yields []Yield
}

// Yield says that a cause is not claimed where another one stands.
type Yield struct {
	To     string `json:"to"`
	Surely bool   `json:"surely"` // only where that one is as sure as a verdict must be
	Why    string `json:"why"`
	unless func(*view) bool
}

// Rules are judged in this order, each once: one that yields comes after those that
// it yields to, so that no cause has to ask another. First come the limits of the
// ends, then what lies between them. What shows in the network (see networkHeld) is
// looked at only where no processor and nothing underneath was found: a host that
// is held back makes the network look slow, and not the other way round.
//
// The order also decides between two findings that limit equally much.
var (
	ends = []rule{
		{cause: ReceiverBuffer, look: receiverBuffer},
		{cause: WindowScale, look: windowScale},
		{cause: SenderBuffer, look: senderBuffer},
		{cause: SenderCPU, look: senderCPU},
		{cause: ReceiverCPU, look: receiverCPU},
		{cause: SlowReceiver, look: slowReceiver, yields: []Yield{
			{To: ReceiverCPU, Why: "an application that gets no processor time reads slowly, too"},
		}},
		{cause: ApplicationWindow, look: applicationWindow, yields: []Yield{
			{To: ReceiverBuffer, Why: "TCP's own window is used up before the application's"},
			{To: WindowScale, Why: "TCP's own window is used up before the application's"},
			{To: SenderBuffer, Why: "what fits into the buffer is less than the application's window"},
			{To: SlowReceiver, Why: "an application that does not read does not answer, either"},
		}},
		{cause: SlowSender, look: slowSender, yields: []Yield{
			{To: SenderCPU, Why: "an application that gets no processor time writes slowly, too"},
			{To: SenderBuffer, Why: "a full buffer keeps the application from writing more, unless the connection stood idle", unless: (*view).idle},
		}},
	}
	between = []rule{
		{cause: DuplexMismatch, look: duplexMismatch},
		{cause: LinkErrors, look: linkErrors, yields: []Yield{
			{To: DuplexMismatch, Surely: true, Why: "collisions cut frames off, which then count as damaged"},
		}},
		{cause: Reordering, look: reordering},
		{cause: ShallowQueue, look: shallowQueue, yields: []Yield{
			{To: Reordering, Why: "packets that overtake each other are taken for lost"},
		}},
		{cause: Policer, look: policer, yields: []Yield{
			{To: ShallowQueue, Why: "what sends evenly gets through a short queue, and not through a bucket"},
		}},
		{cause: RandomLoss, look: randomLoss, yields: []Yield{
			{To: Reordering, Why: "packets that overtake each other are taken for lost"},
			{To: ShallowQueue, Why: "its losses come with bursts, and are not random"},
			{To: Policer, Why: "its losses come above a rate, and are not random"},
			{To: LinkErrors, Surely: true, Why: "the interface counts what the link loses"},
			{To: DuplexMismatch, Surely: true, Why: "the interface counts the collisions"},
		}},
		{cause: CompetingTraffic, look: competingTraffic},
		{cause: ReversePath, look: reversePath},
		{cause: SmallMSS, look: smallMSS},
		{cause: MTUBlackHole, look: mtuBlackHole},
		{cause: Bufferbloat, look: bufferbloat},
		{cause: PathCapacity, look: pathCapacity},
		{cause: ShortTransfer, look: shortTransfer},
		{cause: MemoryPressure, look: memoryPressure},
		{cause: PacingCap, look: pacingCap},
	}
)

// passing are the causes that can be recognised in a running flow from one end. The others
// take what both ends count over a transfer, a probe of the path, or trials.
var passing = slices.DeleteFunc(slices.Concat(ends, between), func(r rule) bool {
	return !slices.Contains([]string{
		ReceiverBuffer, WindowScale, SenderBuffer, SlowReceiver, ApplicationWindow, SlowSender,
		RandomLoss, PathCapacity, ShortTransfer, PacingCap,
	}, r.cause)
})

// judge looks for the causes of rules, in their order.
func (v *view) judge(rules []rule) {
	for i := range rules {
		r := &rules[i]
		if slices.ContainsFunc(r.yields, v.stands) {
			continue
		}
		if f := r.look(v); f != nil {
			v.findings = append(v.findings, *f)
		}
	}
}

// stands says whether the cause that another one yields to was found.
func (v *view) stands(y Yield) bool {
	f := v.found(y.To)
	return f != nil && (!y.Surely || f.Confidence >= Doubtful) && (y.unless == nil || !y.unless(v))
}

// found is the finding of a cause that was judged before; nil if there is none.
func (v *view) found(cause string) *Finding {
	for i := range v.findings {
		if v.findings[i].Cause == cause {
			return &v.findings[i]
		}
	}
	return nil
}

// Precedence is a cause's place in the order in which causes are judged.
type Precedence struct {
	Cause  string  `json:"cause"`
	Yields []Yield `json:"yields,omitempty"` // causes that come before it, and explain its signs better
}

// Order is the order in which causes are judged: first the limits of the ends, then
// what lies between them.
func Order() []Precedence {
	var all []Precedence
	for _, r := range slices.Concat(ends, between) {
		all = append(all, Precedence{r.cause, r.yields})
	}
	return all
}
