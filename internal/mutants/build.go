//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

//go:embed helpers.go.txt
var helperText string

// source is a package, parsed, with its types, and its mutants once it is built.
type source struct {
	path    string // as in ./path
	dir     string // absolute
	sum     string // of its sources, without tests
	tests   string // the sum of its tests
	fset    *token.FileSet
	files   []*ast.File
	texts   [][]byte
	info    *types.Info
	mutants []mutant
	binary  string
}

// load reads a package as `go build` sees it here.
func load(ctx context.Context, path string) (*source, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,TestGoFiles,XTestGoFiles,DepOnly", "./"+path).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", withOutput(err))
	}
	type listed struct {
		ImportPath, Export, Dir            string
		GoFiles, TestGoFiles, XTestGoFiles []string
		DepOnly                            bool
	}
	exports := map[string]string{}
	var here listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			here = l
		}
	}
	s := &source{path: path, dir: here.Dir, fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	sum, tests := sha256.New(), sha256.New()
	for i, name := range slices.Concat(here.GoFiles, here.TestGoFiles, here.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(here.Dir, name))
		if err != nil {
			return nil, err
		}
		if i >= len(here.GoFiles) {
			fmt.Fprintf(tests, "%s %d\n%s", name, len(text), text)
			continue
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		file, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files, s.texts = append(s.files, file), append(s.texts, text)
	}
	s.sum, s.tests = hex.EncodeToString(sum.Sum(nil)), hex.EncodeToString(tests.Sum(nil))
	checker := types.Config{
		Importer: importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		Sizes:    types.SizesFor("gc", runtime.GOARCH),
	}
	_, err = checker.Check(here.ImportPath, s.fset, s.files, s.info)
	return s, err
}

// build compiles all mutants into one test binary. A line whose changes do not
// compile is left as it is.
func (s *source) build(ctx context.Context, dir string) error {
	dropped := map[string]bool{}
	for {
		refused, err := s.compile(ctx, dir, dropped)
		if err == nil {
			return nil
		}
		if !slices.ContainsFunc(refused, func(line string) bool { return !dropped[line] }) {
			return err
		}
		for _, line := range refused {
			fmt.Printf("%s/%s: left alone, as its changes do not compile\n", s.path, line)
			dropped[line] = true
		}
	}
}

// compile gives the lines that the compiler refuses, as file:line.
func (s *source) compile(ctx context.Context, dir string, dropped map[string]bool) (refused []string, err error) {
	s.mutants = nil
	overlay := map[string]string{}
	add := func(name string, text []byte) error {
		to := filepath.Join(dir, name)
		overlay[filepath.Join(s.dir, name)] = to
		return os.WriteFile(to, text, 0o600)
	}
	for i, file := range s.files {
		f := finder{source: s, file: s.fset.File(file.Pos()), text: s.texts[i], dropped: dropped}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); !ok || d.Tok == token.VAR {
				f.walk(decl)
			}
		}
		if err := add(s.fset.Position(file.Pos()).Filename, apply(f.text, f.edits)); err != nil {
			return nil, err
		}
	}
	helper := strings.NewReplacer("PACKAGE", s.files[0].Name.Name, "COUNT", strconv.Itoa(len(s.mutants))).Replace(helperText)
	if err := add("zz_mutants.go", []byte(helper)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return nil, err
	}
	s.binary = filepath.Join(dir, "tests")
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", list, "-o", s.binary, "./"+s.path).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go test -c: %w: %s", err, out)
	}
	for _, found := range regexp.MustCompile(`(?m)([a-z0-9_]+\.go:\d+):\d+: `).FindAllSubmatch(out, -1) {
		refused = append(refused, string(found[1]))
	}
	return refused, err
}

// apply makes the edits, which are in the order of the text.
func apply(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.offset - b.offset })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.offset]...), e.text...)
		at = e.offset + e.length
	}
	return append(out, text[at:]...)
}

// withOutput adds what a program wrote to its error.
func withOutput(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}
