package schema

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxFile bounds what is read of a file. Hardly any has more than 1 KB,
// and the parser needs memory with the square of how deep a file is nested:
// 0.4 GB for 16 KB of brackets.
const MaxFile = 16 << 10

// ReadFile reads a file that is to be parsed; what is what errors call it: "scenario".
func ReadFile(name, what string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if len(data) > MaxFile {
		return nil, fmt.Errorf("read %s %s: larger than %d bytes", what, name, MaxFile)
	}
	return data, nil
}

// Document parses one YAML document without anchors; file is what errors call it,
// expected what should be in it: "a scenario: expected one YAML document with …".
func Document(file, expected string, data []byte) (ast.Node, error) {
	document, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, unreadable(err))
	}
	var root ast.Node
	if len(document.Docs) == 1 {
		root = document.Docs[0].Body
	}
	if _, null := root.(*ast.NullNode); root == nil || null {
		return nil, fmt.Errorf("%s:1:1: not %s", file, expected)
	}
	if alias := findAlias(root); alias != nil {
		return nil, fmt.Errorf("%s:%w", file, Place(alias, errors.New("anchors and aliases are not part of the format: write the value out")))
	}
	return root, nil
}

// Join makes one error of all that is wrong with a file, in the order of the file;
// nil if nothing is.
func Join(file string, wrong []*Placed) error {
	slices.SortStableFunc(wrong, func(a, b *Placed) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for _, err := range wrong {
		all = append(all, fmt.Errorf("%s:%w", file, err))
	}
	return errors.Join(all...)
}

// unreadable is an error of the YAML library, with its place if it has one.
func unreadable(err error) error {
	var library yaml.Error
	if errors.As(err, &library) && library.GetToken() != nil {
		at := library.GetToken().Position
		return &Placed{Line: at.Line, Column: at.Column, Err: errors.New(strings.TrimSpace(library.GetMessage()))}
	}
	return fmt.Errorf(" %w", err)
}

// findAlias gives the first anchor or alias below node, or nil.
func findAlias(node ast.Node) ast.Node {
	var finder aliasFinder
	ast.Walk(&finder, node)
	return finder.found
}

type aliasFinder struct{ found ast.Node }

func (f *aliasFinder) Visit(node ast.Node) ast.Visitor {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		if f.found == nil {
			f.found = node
		}
		return nil
	}
	return f
}

// Checker collects what is wrong with a document that could be read, with places.
type Checker struct {
	Root  ast.Node
	Found []*Placed
}

// Reject records an error if wrong holds. The place is the key at the given
// path or, where that was omitted, the nearest one above it.
func (c *Checker) Reject(wrong bool, at string, format string, args ...any) {
	if !wrong {
		return
	}
	err := fmt.Errorf(format, args...)
	for at != "" {
		if path, e := yaml.PathString("$." + at); e == nil {
			if node, e := path.FilterNode(c.Root); e == nil && node != nil {
				c.Found = append(c.Found, Place(node, err))
				return
			}
		}
		at = at[:max(0, strings.LastIndexAny(at, ".["))]
	}
	c.Found = append(c.Found, Place(c.Root, err))
}
