package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/fullbore/fullbore/bulk"
)

// pack writes the samples of one stream column by column: what one counter did
// over time compresses far better than rows do. Each column is the differences
// from value to value as signed varints; columns of nothing but 0 are left out;
// gzip is around all. A column has the name that the value has in JSON, so that
// versions which know more, or fewer, read each other's.
func pack(samples []bulk.Sample) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := bufio.NewWriter(zip) // it and zip write to memory: no error before the end
	put := func(v int64) { _, _ = w.Write(binary.AppendVarint(nil, v)) }
	put(int64(len(samples)))
	for i := range columns {
		c := &columns[i]
		values, some := make([]int64, len(samples)), false
		for j := range samples {
			values[j] = c.get(&samples[j])
			some = some || values[j] != 0
		}
		if !some {
			continue
		}
		put(int64(len(c.name)))
		_, _ = w.WriteString(c.name)
		last := int64(0)
		for _, v := range values {
			put(v - last) // wraps around, and back again
			last = v
		}
	}
	if err := errors.Join(w.Flush(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack samples: %w", err)
	}
	return out.Bytes(), nil
}

// mostSamples of a stream: five times what bulk keeps of one.
const mostSamples = 1 << 14

// longestName of a column, in bytes.
const longestName = 64

// mostColumns of a blob: those of this version and as many that it does not know.
const mostColumns = 512

// unpack reads what pack wrote, of this version or another one.
func unpack(packed []byte) ([]bulk.Sample, error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack samples: %w", err)
	}
	samples, err := readColumns(bufio.NewReader(zip))
	if err != nil {
		return nil, fmt.Errorf("unpack samples: %w", err)
	}
	return samples, nil
}

func readColumns(r *bufio.Reader) ([]bulk.Sample, error) {
	count, err := binary.ReadVarint(r)
	if err != nil {
		return nil, fmt.Errorf("number of samples: %w", unexpected(err))
	}
	if count < 0 || count > mostSamples {
		return nil, fmt.Errorf("%d samples: not 0 to %d", count, mostSamples)
	}
	var samples []bulk.Sample
	for range mostColumns {
		length, err := binary.ReadVarint(r)
		if errors.Is(err, io.EOF) {
			return grown(samples, int(count)), nil
		}
		if err != nil || length < 1 || length > longestName {
			return nil, fmt.Errorf("name of a column: %d bytes: %w", length, unexpected(err))
		}
		name := make([]byte, length)
		if _, err := io.ReadFull(r, name); err != nil {
			return nil, fmt.Errorf("name of a column: %w", unexpected(err))
		}
		c := columnNamed[string(name)]
		value := int64(0)
		for i := range int(count) {
			step, err := binary.ReadVarint(r)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", name, unexpected(err))
			}
			value += step
			if c == nil {
				continue
			}
			// Memory is taken as values come, not for what the count promises.
			if i >= len(samples) {
				samples = append(samples, bulk.Sample{})
			}
			c.set(&samples[i], value)
		}
	}
	return nil, fmt.Errorf("more than %d columns", mostColumns)
}

// grown are the samples up to a count: those behind the last are all 0.
func grown(samples []bulk.Sample, count int) []bulk.Sample {
	return append(samples, make([]bulk.Sample, count-len(samples))...)
}

// unexpected is an error for data that ends where it must not.
func unexpected(err error) error {
	switch {
	case err == nil:
		return errors.New("out of range")
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// column is one number of a sample.
type column struct {
	name string
	path []int // of fields, from the sample down
}

// columns are those of a sample, in the order of its fields.
var columns = columnsOf(reflect.TypeFor[bulk.Sample](), "", nil)

var columnNamed = func() map[string]*column {
	named := map[string]*column{}
	for i := range columns {
		named[columns[i].name] = &columns[i]
	}
	return named
}()

// columnsOf finds the numbers of a struct. One that a pointer leads to has a
// column more, which says whether it is there.
func columnsOf(t reflect.Type, prefix string, path []int) []column {
	var all []column
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name = prefix + name
		at := append(append([]int{}, path...), i)
		switch field.Type.Kind() {
		case reflect.Struct:
			all = append(all, columnsOf(field.Type, name+".", at)...)
		case reflect.Pointer:
			all = append(all, column{name, at})
			all = append(all, columnsOf(field.Type.Elem(), name+".", at)...)
		default:
			all = append(all, column{name, at})
		}
	}
	return all
}

// get is the column's number in a sample, 0 where what it belongs to is absent.
func (c *column) get(s *bulk.Sample) int64 {
	v := reflect.ValueOf(s).Elem()
	for _, i := range c.path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return 0
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return 1
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Float64:
		return int64(math.Float64bits(v.Float()))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return int64(v.Uint())
	default:
		return v.Int()
	}
}

// set is the reverse of get. A number too large for its field keeps its lower bits.
func (c *column) set(s *bulk.Sample, value int64) {
	v := reflect.ValueOf(s).Elem()
	for _, i := range c.path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return // its presence comes first
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if value != 0 {
			v.Set(reflect.New(v.Type().Elem()))
		}
	case reflect.Bool:
		v.SetBool(value != 0)
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(uint64(value)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(value) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	default:
		v.SetInt(value << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	}
}
