package document

// How many rows of streams are kept.
const (
	// maxStreamRows take 20 MB: a day of one stream with a row a second, or a
	// quarter of an hour of 128.
	maxStreamRows = 1 << 17
	// ServerOutput are as many as a server may report (--get-server-output):
	// their JSON stays below the 16 MiB that a client of ours reads.
	ServerOutput = 1 << 15
)

// kept are the completed rows of a transfer, no more than a limit of them.
type kept struct {
	rows    []Row
	limit   int // rows of streams
	stretch int // completed rows that become one of rows
	in      int // completed rows in the last of rows so far
}

func (k *kept) add(row Row) {
	n := len(k.rows)
	if k.in < k.stretch && n > 0 && k.rows[n-1].continues(row) {
		k.rows[n-1] = k.rows[n-1].join(row)
		k.in++
		return
	}
	k.rows = append(k.rows, row)
	k.in = 1
	if len(k.rows)*len(row.Streams) > k.limit {
		k.halve()
	}
}

// halve joins every two neighbours, and has rows become twice as long.
func (k *kept) halve() {
	halved := k.rows[:0]
	for i := 0; i < len(k.rows); i++ {
		row := k.rows[i]
		if i+1 < len(k.rows) && row.continues(k.rows[i+1]) {
			row = row.join(k.rows[i+1])
			i++
		}
		halved = append(halved, row)
	}
	clear(k.rows[len(halved):])
	k.rows = halved
	k.stretch *= 2
	k.in = k.stretch // a new one begins: the last may be full
}
