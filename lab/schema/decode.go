package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/near"
)

// Placed is an error at a line and column of a document.
type Placed struct {
	Line, Column int
	Err          error
}

// Error begins with the place: "3:8: …".
func (p *Placed) Error() string { return fmt.Sprintf("%d:%d: %v", p.Line, p.Column, p.Err) }

// Unwrap is the error without its place.
func (p *Placed) Unwrap() error { return p.Err }

// Place says where err is: at node. Keys on lines of their own begin with the first,
// although the library has them at its colon.
func Place(node ast.Node, err error) *Placed {
	if block, ok := node.(*ast.MappingNode); ok && !block.IsFlowStyle && len(block.Values) > 0 {
		node = block.Values[0].Key
	}
	if tok := node.GetToken(); tok != nil && tok.Position != nil {
		return &Placed{Line: tok.Position.Line, Column: tok.Position.Column, Err: err}
	}
	return &Placed{Line: 1, Column: 1, Err: err}
}

// Decode sets the keys of the struct that into points to, to what a document has
// under them. It gives all that is wrong, each with its place: unknown keys, and values
// that cannot be read. A struct with a method Complete then fills in what was omitted.
func Decode(root ast.Node, into any) []*Placed {
	v := reflect.ValueOf(into).Elem()
	d := decoder{all: allKeys(v.Type())}
	slices.Sort(d.all) // for Compact
	d.all = slices.Compact(d.all)
	d.decode(root, v)
	return d.found
}

// Reader is a type that reads its own part of a document, and says what is wrong there.
type Reader interface {
	FromNode(node ast.Node) []*Placed
}

type decoder struct {
	all   []string // keys that exist anywhere
	found []*Placed
}

func (d *decoder) reject(node ast.Node, format string, args ...any) {
	d.found = append(d.found, Place(node, fmt.Errorf(format, args...)))
}

// decode sets a value to what the node says. A key without a value is as good
// as omitted.
func (d *decoder) decode(node ast.Node, into reflect.Value) {
	if _, ok := node.(*ast.NullNode); ok {
		return
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	if reader, ok := reflect.TypeAssert[Reader](into.Addr()); ok {
		d.found = append(d.found, reader.FromNode(node)...)
		return
	}
	word, isWord := WordOf(node)
	mapping, isMapping := node.(ast.MapNode)
	list, isList := node.(*ast.SequenceNode)
	switch kind := into.Kind(); {
	case isWord && IsWord(into.Type()):
		if err := Read(word, into); err != nil {
			d.reject(node, "%w", err)
		}
	case isMapping && kind == reflect.Struct && hasKeys(into.Type()):
		d.decodeKeys(mapping, into)
	case isMapping && kind == reflect.Map:
		d.decodeWords(mapping, into)
	case isList && kind == reflect.Slice:
		into.Set(reflect.MakeSlice(into.Type(), len(list.Values), len(list.Values)))
		for i, item := range list.Values {
			d.decode(item, into.Index(i))
		}
	default:
		d.reject(node, "expected %s, not %s", expected(into.Type()), Present(node))
	}
}

// decodeKeys sets the fields of a struct.
func (d *decoder) decodeKeys(mapping ast.MapNode, into reflect.Value) {
	for entries := mapping.MapRange(); entries.Next(); {
		key := entries.Key().GetToken().Value
		field := reflect.Value{}
		for name, f := range Keys(into.Type()) {
			if name == key {
				field = into.FieldByIndex(f.Index)
			}
		}
		switch {
		case field.IsValid():
			d.decode(entries.Value(), field)
		case slices.Contains(d.all, key):
			d.reject(entries.Key(), "key %q does not belong here", key)
		default:
			d.reject(entries.Key(), "unknown key %q%s", key, near.DidYouMean(key, d.all))
		}
	}
	if filled, ok := reflect.TypeAssert[interface{ Complete() }](into.Addr()); ok {
		filled.Complete()
	}
}

// decodeWords sets a map of words, whose keys the format does not know.
func (d *decoder) decodeWords(mapping ast.MapNode, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	for entries := mapping.MapRange(); entries.Next(); {
		word, ok := WordOf(entries.Value())
		if !ok {
			d.reject(entries.Value(), "expected a word, not %s", Present(entries.Value()))
			continue
		}
		into.SetMapIndex(reflect.ValueOf(entries.Key().GetToken().Value), reflect.ValueOf(word))
	}
}

// WordOf gives what a scalar of YAML says; not ok if it is none.
func WordOf(node ast.Node) (word string, ok bool) {
	switch node := node.(type) {
	case *ast.StringNode:
		return strings.TrimSpace(node.Value), true
	case *ast.LiteralNode:
		return strings.TrimSpace(node.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	}
	return "", false
}

// expected is what the format has where the program has that type.
func expected(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct && hasKeys(t):
		return "keys with values"
	default:
		return "one value such as 10ms or 1gbit"
	}
}

// Present says what a document has at a place.
func Present(node ast.Node) string {
	switch node := node.(type) {
	case ast.MapNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", node.GetToken().Value)
	}
}

func hasKeys(t reflect.Type) bool {
	for range Keys(t) {
		return true
	}
	return false
}

// allKeys are the keys of a struct and of all that is in it.
func allKeys(t reflect.Type) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for name, field := range Keys(t) {
			all = append(append(all, name), allKeys(field.Type)...)
		}
	}
	return all
}
