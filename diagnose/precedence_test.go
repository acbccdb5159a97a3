package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every cause has one place in the order, and what it yields to comes before it.
func TestOrder(t *testing.T) {
	judged := map[string]bool{}
	for _, p := range Order() {
		if judged[p.Cause] || !Known(p.Cause) {
			t.Errorf("%s is judged twice, or is no cause", p.Cause)
		}
		for _, y := range p.Yields {
			if !judged[y.To] {
				t.Errorf("%s yields to %s, which is not judged before it", p.Cause, y.To)
			}
			if y.Why == "" {
				t.Errorf("%s yields to %s without a reason", p.Cause, y.To)
			}
		}
		judged[p.Cause] = true
	}
	for _, c := range Causes {
		if !judged[c.ID] && !slices.Contains([]string{Healthy, Unknown, ApplicationWindow}, c.ID) {
			t.Errorf("%s has no place in the order", c.ID)
		}
	}
}

// Causes do not ask each other: what looks for one is named in the table of
// precedence and nowhere else.
func TestCausesDoNotAskEachOther(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	looks := map[string]int{} // functions that look for a cause, and how often each is named
	var used []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Type.Results != nil && len(n.Type.Params.List) == 1 && named(n.Type.Params.List[0].Type) == "view" && named(n.Type.Results.List[0].Type) == "Finding" {
					looks[n.Name.Name] = 0
				}
			case *ast.Ident:
				if n.Obj == nil || n.Obj.Kind != ast.Fun || n.Obj.Pos() != n.Pos() {
					used = append(used, n.Name)
				}
			}
			return true
		})
	}
	for _, name := range used {
		if _, is := looks[name]; is {
			looks[name]++
		}
	}
	for name, times := range looks {
		if times != 1 && name != "unmeasured" {
			t.Errorf("%s is used %d times, want once, by the table", name, times)
		}
	}
	if len(looks) < len(Order()) {
		t.Errorf("%d functions look for %d causes: %v", len(looks), len(Order()), looks)
	}
}

// named is the name of a type or of what it points to.
func named(x ast.Expr) string {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// A finding keeps off those that yield to it, as long as it is sure enough.
func TestYields(t *testing.T) {
	finds := func(cause string, confidence float64) rule {
		return rule{cause: cause, look: func(*view) *Finding { return &Finding{Cause: cause, Confidence: confidence} }}
	}
	never := rule{cause: Policer, look: func(*view) *Finding { return nil }}
	for _, c := range []struct {
		name  string
		first rule
		yield Yield
		want  bool // the second one is found
	}{
		{"it stands, however unsure", finds(Policer, 0.01), Yield{To: Policer}, false},
		{"it was not found", never, Yield{To: Policer}, true},
		{"another one was", finds(Reordering, 1), Yield{To: Policer}, true},
		{"it must be sure, and is", finds(Policer, Doubtful), Yield{To: Policer, Surely: true}, false},
		{"it must be sure, and is not", finds(Policer, Doubtful-0.01), Yield{To: Policer, Surely: true}, true},
		{"an exception holds", finds(Policer, 1), Yield{To: Policer, unless: func(*view) bool { return true }}, true},
		{"an exception does not", finds(Policer, 1), Yield{To: Policer, unless: func(*view) bool { return false }}, false},
	} {
		second := finds(RandomLoss, 0.5)
		second.yields = []Yield{c.yield}
		v := &view{}
		v.judge([]rule{c.first, second})
		if got := v.found(RandomLoss) != nil; got != c.want {
			t.Errorf("%s: found %v, want %v", c.name, got, c.want)
		}
	}
}
