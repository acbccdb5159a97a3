//go:build linux

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A mutant is one change to a package.
type mutant struct {
	ID   int    // from 1
	At   string // file:line:column
	What string // the change, such as "< becomes <="
	Line string // what stands there, without the blanks around it
}

// An edit replaces length bytes of a file, from the offset on, by text.
type edit struct {
	offset, length int
	text           string
}

// finder walks a file and notes the changes that it offers. Edits come in the
// order of the text, so that those at one offset nest as the syntax does.
type finder struct {
	*source
	file    *token.File
	text    []byte
	edits   []edit
	dropped map[string]bool // lines whose changes do not compile
}

// comparisons: what a comparison becomes at its border.
var comparisons = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}

// helpers are the functions of helpers.go.txt that stand for an operator.
var helpers = map[token.Token]string{
	token.LSS: "mutantLess", token.LEQ: "mutantLessEqual", token.GTR: "mutantGreater", token.GEQ: "mutantGreaterEqual",
	token.ADD: "mutantAdd", token.SUB: "mutantSub", token.MUL: "mutantMul", token.QUO: "mutantQuo", token.REM: "mutantRem",
	token.LAND: "mutantAnd", token.LOR: "mutantOr",
}

// opposites are what an operator becomes.
var opposites = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

func (f *finder) offset(p token.Pos) int { return f.file.Offset(p) }

func (f *finder) insert(at token.Pos, text string) {
	f.edits = append(f.edits, edit{offset: f.offset(at), text: text})
}

func (f *finder) replace(at token.Pos, old, text string) {
	f.edits = append(f.edits, edit{f.offset(at), len(old), text})
}

// add counts one more mutant, unless changes on its line do not compile.
func (f *finder) add(at token.Pos, format string, args ...any) (int, bool) {
	place := f.fset.Position(at)
	if f.dropped[fmt.Sprintf("%s:%d", place.Filename, place.Line)] {
		return 0, false
	}
	start, end := f.offset(f.file.LineStart(place.Line)), len(f.text)
	if place.Line < f.file.LineCount() {
		end = f.offset(f.file.LineStart(place.Line + 1))
	}
	f.mutants = append(f.mutants, mutant{
		ID: len(f.mutants) + 1, At: fmt.Sprintf("%s:%d:%d", place.Filename, place.Line, place.Column), What: fmt.Sprintf(format, args...),
		Line: strings.TrimSpace(string(f.text[start:end])),
	})
	return len(f.mutants), true
}

// walk notes the changes of a node and of what is in it.
func (f *finder) walk(node ast.Node) {
	switch n := node.(type) {
	case nil:
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.SUB && f.numeric(n) {
			if id, ok := f.add(n.OpPos, "-x becomes x"); ok {
				f.replace(n.OpPos, "-", fmt.Sprintf("mutantNeg(%d, ", id))
				f.walk(n.X)
				f.insert(n.End(), ")")
				return
			}
		}
		f.children(n)
	case *ast.IncDecStmt:
		f.count(n)
	case *ast.AssignStmt:
		f.assign(n)
	case *ast.IfStmt:
		f.walk(n.Init)
		f.condition(n.Cond)
		f.walk(n.Body)
		f.walk(n.Else)
	case *ast.BlockStmt:
		f.list(n.List)
	case *ast.CaseClause:
		for _, e := range n.List {
			f.walk(e)
		}
		f.list(n.Body)
	case *ast.CommClause:
		f.walk(n.Comm)
		f.list(n.Body)
	default:
		f.children(n)
	}
}

// children walks what is directly in a node.
func (f *finder) children(node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		if n == node {
			return true
		}
		if n != nil {
			f.walk(n)
		}
		return false
	})
}

func (f *finder) binary(n *ast.BinaryExpr) {
	both := func() { f.walk(n.X); f.walk(n.Y) }
	// call makes a call of a helper out of the expression.
	call := func(id int, before, after string) {
		f.insert(n.Pos(), fmt.Sprintf("%s(%d, ", helpers[n.Op], id))
		f.walk(n.X)
		f.replace(n.OpPos, n.Op.String(), before)
		f.walk(n.Y)
		f.insert(n.End(), after+")")
	}
	switch n.Op {
	case token.EQL, token.NEQ:
		id, ok := 0, false
		if f.variable(n) {
			id, ok = f.add(n.OpPos, "%s is negated", n.Op)
		}
		if !ok {
			both()
			return
		}
		f.insert(n.Pos(), "((")
		both()
		f.insert(n.End(), fmt.Sprintf(") != mutantOn(%d))", id))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if !f.variable(n) {
			both()
			return
		}
		id, ok := f.add(n.OpPos, "%s becomes %s", n.Op, comparisons[n.Op])
		if !ok {
			both()
			return
		}
		f.add(n.OpPos, "%s is negated", n.Op)
		if f.measured(n) {
			f.mutants[id-1].What += ofMeasured
		}
		call(id, ",", "")
	case token.LAND, token.LOR:
		id, ok := 0, false
		if f.variable(n) && f.plainBool(n.X) && f.plainBool(n.Y) {
			id, ok = f.add(n.OpPos, "%s becomes %s", n.Op, opposites[n.Op])
		}
		if !ok {
			both()
			return
		}
		call(id, ", func() bool { return (", ")}")
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		id, ok := 0, false
		if f.numeric(n) && !f.shifts(n) {
			id, ok = f.add(n.OpPos, "%s becomes %s", n.Op, opposites[n.Op])
		}
		if !ok {
			both()
			return
		}
		call(id, ",", "")
	default:
		both()
	}
}

// condition is negated where it is no comparison: those are in themselves.
func (f *finder) condition(cond ast.Expr) {
	inner := ast.Unparen(cond)
	if b, ok := inner.(*ast.BinaryExpr); ok && b != nil || !f.variable(cond) {
		f.walk(cond)
		return
	}
	id, ok := f.add(cond.Pos(), "the condition is negated")
	if !ok {
		f.walk(cond)
		return
	}
	f.insert(cond.Pos(), "((")
	f.walk(cond)
	f.insert(cond.End(), fmt.Sprintf(") != mutantOn(%d))", id))
}

func (f *finder) count(n *ast.IncDecStmt) {
	operator := map[token.Token]string{token.INC: " += ", token.DEC: " -= "}[n.Tok]
	id, ok := f.add(n.TokPos, "%s counts the other way", n.Tok)
	if !ok {
		f.walk(n.X)
		return
	}
	x := string(f.text[f.offset(n.X.Pos()):f.offset(n.X.End())])
	f.replace(n.TokPos, n.Tok.String(), fmt.Sprintf("%smutantOne(%d, %s)", operator, id, x))
}

func (f *finder) assign(n *ast.AssignStmt) {
	if (n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN) && f.isNumber(n.Lhs[0]) && f.isNumber(n.Rhs[0]) && f.info.Types[n.Rhs[0]].Value == nil {
		if id, ok := f.add(n.TokPos, "%s has the other sign", n.Tok); ok {
			f.walk(n.Lhs[0])
			f.insert(n.Rhs[0].Pos(), fmt.Sprintf("mutantSign(%d, ", id))
			f.walk(n.Rhs[0])
			f.insert(n.Rhs[0].End(), ")")
			return
		}
	}
	f.children(n)
}

// unnoticeable calls leave no trace that a test could wait for: what they free
// or guard is still free or guarded in a quiet process.
var unnoticeable = map[string]bool{"Close": true, "Lock": true, "Unlock": true, "RLock": true, "RUnlock": true, "panic": true, "Helper": true}

// list are statements, of which calls can be left out.
func (f *finder) list(statements []ast.Stmt) {
	for _, s := range statements {
		call, name := called(s)
		id, ok := 0, false
		if call != nil && !unnoticeable[name] {
			id, ok = f.add(s.Pos(), "the call of %s is left out", name)
		}
		if !ok {
			f.walk(s)
			continue
		}
		f.insert(s.Pos(), fmt.Sprintf("if !mutantOn(%d) { ", id))
		f.walk(s)
		f.insert(s.End(), " }")
	}
}

// called is the call that is all of a statement.
func called(s ast.Stmt) (*ast.CallExpr, string) {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil, ""
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return nil, ""
	}
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return call, fun.Name
	case *ast.SelectorExpr:
		return call, fun.Sel.Name
	}
	return call, "a function"
}

// variable: the compiler does not know the value.
func (f *finder) variable(e ast.Expr) bool {
	t, ok := f.info.Types[e]
	return ok && t.Value == nil
}

func (f *finder) plainBool(e ast.Expr) bool {
	t := f.info.Types[e].Type
	return t == types.Typ[types.Bool] || t == types.Typ[types.UntypedBool]
}

// ofMeasured marks a border between two calculated floating-point numbers. That
// they are equal to the last bit has no meaning that code or a test could hold to.
const ofMeasured = ", of calculated numbers"

// measured: both sides are floating-point numbers, and neither is a constant.
func (f *finder) measured(n *ast.BinaryExpr) bool {
	for _, e := range []ast.Expr{n.X, n.Y} {
		t := f.info.Types[e].Type
		if t == nil || !f.variable(e) {
			return false
		}
		if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Info()&types.IsFloat == 0 {
			return false
		}
	}
	return true
}

func (f *finder) numeric(e ast.Expr) bool { return f.variable(e) && f.isNumber(e) }

func (f *finder) isNumber(e ast.Expr) bool {
	t := f.info.Types[e].Type
	if t == nil {
		if id, ok := e.(*ast.Ident); ok && f.info.ObjectOf(id) != nil {
			t = f.info.ObjectOf(id).Type()
		} else {
			return false
		}
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsInteger|types.IsFloat) != 0
}

// shifts: an operand is a shift, whose type depends on where it stands.
func (f *finder) shifts(n *ast.BinaryExpr) bool {
	for _, e := range []ast.Expr{n.X, n.Y} {
		if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.SHL || b.Op == token.SHR) {
			return true
		}
	}
	return false
}
