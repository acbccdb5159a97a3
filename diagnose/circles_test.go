package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Causes ask each other, and views of trials ask causes: no such question leads
// back to the one who asked, whatever the evidence.
func TestNobodyAsksInCircles(t *testing.T) {
	uses := map[string][]string{} // functions and methods, by name, and the names that they use
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			called := []string{}
			ast.Inspect(function.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					called = append(called, nameOf(file, n.Fun))
				case *ast.CompositeLit: // []cause{...}
					for _, e := range n.Elts {
						called = append(called, nameOf(file, e))
					}
				}
				return true
			})
			uses[function.Name.Name] = append(uses[function.Name.Name], called...)
		}
	}
	var asking []string
	done := map[string]bool{}
	var walk func(name string)
	walk = func(name string) {
		if at := slices.Index(asking, name); at >= 0 {
			t.Errorf("%s -> %s", strings.Join(asking[at:], " -> "), name)
			return
		}
		if done[name] {
			return
		}
		asking = append(asking, name)
		for _, next := range uses[name] {
			if _, ours := uses[next]; ours {
				walk(next)
			}
		}
		asking = asking[:len(asking)-1]
		done[name] = true
	}
	for name := range uses {
		walk(name)
	}
	if len(uses["randomLoss"]) == 0 {
		t.Error("no cause was read")
	}
}

// nameOf a function or method; "" if it is neither, or another package's.
func nameOf(file *ast.File, x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if of, ok := x.X.(*ast.Ident); ok && slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return path.Base(strings.Trim(i.Path.Value, `"`)) == of.Name }) {
			return ""
		}
		return x.Sel.Name
	}
	return ""
}
