package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fullbore/fullbore/near"
)

// maxFile bounds what is read of a scenario file. Hardly any has more than 1 KB,
// and the parser needs memory with the square of how deep a file is nested:
// 0.4 GB for 16 KB of brackets.
const maxFile = 16 << 10

// Load gives the built-in scenario of that name or, if the argument has a path
// separator or ends in .yaml or .yml, the one in that file. Everything wrong
// with a file is in the error, with line and column.
func Load(nameOrFile string) (*Scenario, error) {
	extension := strings.ToLower(filepath.Ext(nameOrFile))
	if !strings.ContainsAny(nameOrFile, `/\`) && extension != ".yaml" && extension != ".yml" {
		return builtin(nameOrFile)
	}
	file, err := os.Open(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("open scenario: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read scenario %s: larger than %d bytes", nameOrFile, maxFile)
	}
	return Parse(nameOrFile, data)
}

// Parse reads a scenario; file is what errors call it. What may be omitted is
// filled in, so that the result is complete.
func Parse(file string, data []byte) (*Scenario, error) {
	document, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, inFile(file, err)
	}
	if len(document.Docs) != 1 || document.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s:1:1: not a scenario: expected one YAML document with name and path", file)
	}
	root := document.Docs[0].Body
	if alias := findAlias(root); alias != nil {
		return nil, inFile(file, placeError(alias, errors.New("anchors and aliases are not part of the format: write the value out")))
	}
	scenario := new(Scenario)
	if err := yaml.NodeToValue(root, scenario, yaml.Strict()); err != nil {
		return nil, inFile(file, err)
	}
	scenario.fill()
	if err := scenario.check(root); err != nil {
		return nil, inFile(file, err)
	}
	return scenario, nil
}

// fill replaces what was omitted by what that means.
func (s *Scenario) fill() {
	if s.Path.MTU == 0 {
		s.Path.MTU = 1500
	}
	if s.Path.BToA == nil {
		reverse := s.Path.AToB
		s.Path.BToA = &reverse
	}
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

// placed is an error at a place of a scenario file.
type placed struct {
	line, column int
	err          error
}

func (p *placed) Error() string { return fmt.Sprintf("%d:%d: %v", p.line, p.column, p.err) }
func (p *placed) Unwrap() error { return p.err }

// placeError says where err is: at node.
func placeError(node ast.Node, err error) error {
	if tok := node.GetToken(); tok != nil && tok.Position != nil {
		return &placed{line: tok.Position.Line, column: tok.Position.Column, err: err}
	}
	return &placed{line: 1, column: 1, err: err}
}

// inFile puts "file:line:column: " before every error that has a place.
func inFile(file string, err error) error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range list.Unwrap() {
			all = append(all, inFile(file, e))
		}
		return errors.Join(all...)
	}
	if place, ok := errors.AsType[*placed](err); ok {
		return fmt.Errorf("%s:%w", file, place)
	}
	var library yaml.Error
	if errors.As(err, &library) && library.GetToken() != nil {
		position := library.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", file, position.Line, position.Column, reword(library))
	}
	return fmt.Errorf("%s: %w", file, err)
}

// reword turns the library's message into one in the words of the format.
func reword(err yaml.Error) string {
	var unknown *yaml.UnknownFieldError
	var mistyped *yaml.TypeError
	switch {
	case errors.As(err, &unknown):
		key := unknown.GetToken().Value
		all := keys()
		if slices.Contains(all, key) {
			return fmt.Sprintf("key %q does not belong here", key)
		}
		return fmt.Sprintf("unknown key %q%s", key, near.DidYouMean(key, all))
	case errors.As(err, &mistyped):
		return fmt.Sprintf("expected %s, not %q", kindOf(mistyped.DstType), mistyped.GetToken().Value)
	}
	return strings.TrimSpace(err.GetMessage())
}

// kindOf says what the format has where the program has that type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Uint64, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a word"
	case reflect.Slice:
		return "a list"
	default:
		return "keys with values"
	}
}
