package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/fullbore/fullbore/lab/schema"
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
		return nil, fmt.Errorf("%s:%w", file, unreadable(err))
	}
	var root ast.Node
	if len(document.Docs) == 1 {
		root = document.Docs[0].Body
	}
	if _, null := root.(*ast.NullNode); root == nil || null {
		return nil, fmt.Errorf("%s:1:1: not a scenario: expected one YAML document with name and path", file)
	}
	if alias := findAlias(root); alias != nil {
		return nil, fmt.Errorf("%s:%w", file, schema.Place(alias, errors.New("anchors and aliases are not part of the format: write the value out")))
	}
	scenario := new(Scenario)
	wrong := schema.Decode(root, scenario)
	if wrong == nil {
		wrong = scenario.check(root)
	}
	slices.SortStableFunc(wrong, func(a, b *schema.Placed) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for _, err := range wrong {
		all = append(all, fmt.Errorf("%s:%w", file, err))
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	return scenario, nil
}

// unreadable is an error of the YAML library, with its place if it has one.
func unreadable(err error) error {
	var library yaml.Error
	if errors.As(err, &library) && library.GetToken() != nil {
		at := library.GetToken().Position
		return &schema.Placed{Line: at.Line, Column: at.Column, Err: errors.New(strings.TrimSpace(library.GetMessage()))}
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
