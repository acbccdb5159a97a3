package diagnose

// Identifiers of causes, as they stand in JSON, in scenarios and in reports.
const (
	Healthy           = "healthy"
	ReceiverBuffer    = "receiver-buffer"
	WindowScale       = "window-scale"
	SenderBuffer      = "sender-buffer"
	SlowReceiver      = "slow-receiver"
	SlowSender        = "slow-sender"
	ApplicationWindow = "application-window"
	RandomLoss        = "random-loss"
	ShallowQueue      = "shallow-queue"
	Policer           = "policer"
	CompetingTraffic  = "competing-traffic"
	PathCapacity      = "path-capacity"
	Bufferbloat       = "bufferbloat"
	Reordering        = "reordering"
	MTUBlackHole      = "mtu-black-hole"
	SmallMSS          = "small-mss"
	DuplexMismatch    = "duplex-mismatch"
	LinkErrors        = "link-errors"
	ReversePath       = "reverse-path"
	PacingCap         = "pacing-cap"
	SenderCPU         = "sender-cpu"
	ReceiverCPU       = "receiver-cpu"
	MemoryPressure    = "memory-pressure"
	ShortTransfer     = "short-transfer"
	Unknown           = "unknown"
)

// Cause is an identifier with what the limit is.
type Cause struct {
	ID    string `json:"cause"`
	Means string `json:"means"` // completes "the limit is ..."
}

// Causes are all identifiers that a verdict may carry, in the order in which
// the manual explains them.
var Causes = []Cause{
	{Healthy, "none: the transfer gets what the path can carry"},
	{ReceiverBuffer, "the receiver's kernel buffer maximum, or a fixed SO_RCVBUF"},
	{WindowScale, "the window scale: none, or too small a one, was agreed"},
	{SenderBuffer, "the sender's kernel buffer maximum, or a fixed SO_SNDBUF"},
	{SlowReceiver, "the receiving application or disk: it does not read fast enough"},
	{SlowSender, "the sending application or disk: it does not supply data"},
	{ApplicationWindow, "the application's own flow control (ssh, HTTP/2, NFS, SMB)"},
	{RandomLoss, "loss that is not congestion"},
	{ShallowQueue, "the bottleneck's queue, far below one BDP for this congestion control"},
	{Policer, "a token bucket that drops above its rate"},
	{CompetingTraffic, "the share that others leave at the bottleneck"},
	{PathCapacity, "the bottleneck: it is full, nothing to tune"},
	{Bufferbloat, "latency: capacity is reached, but at a delay out of proportion"},
	{Reordering, "reordering that is taken for loss"},
	{MTUBlackHole, "the path's MTU: packets above a certain size are lost"},
	{SmallMSS, "the MSS, far below the link's MTU"},
	{DuplexMismatch, "a link with one side half, one full duplex"},
	{LinkErrors, "a NIC or cable that corrupts frames"},
	{ReversePath, "the way back: ACKs are lost or delayed"},
	{PacingCap, "SO_MAX_PACING_RATE or a shaping qdisc on the sender"},
	{SenderCPU, "one core of the sender"},
	{ReceiverCPU, "one core of the receiver"},
	{MemoryPressure, "tcp_mem, the memory for all of TCP"},
	{ShortTransfer, "time: it ended before the window opened"},
	{Unknown, "not known: the evidence does not fit any cause"},
}

// Known says whether cause is one of Causes.
func Known(cause string) bool {
	for _, c := range Causes {
		if c.ID == cause {
			return true
		}
	}
	return false
}
