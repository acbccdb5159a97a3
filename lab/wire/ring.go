package wire

// ring is a queue that grows to what it once held and then allocates no more.
type ring[T any] struct {
	items []T // length a power of two
	head  int
	n     int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		grown := make([]T, max(1024, 2*r.n))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.items, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// at is the i-th oldest item.
func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// pop removes the oldest item.
func (r *ring[T]) pop() {
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
}
