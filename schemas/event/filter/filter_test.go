package filter

import (
	"slices"
	"strings"
	"testing"
)

func TestTextsThatAreNoFilters(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "empty"}, {` `, "empty"}, {`x ==`, "(1:"}, {"x == 1 and\n  (y", "(2:"}, {`x = 1`, "(1:3)"},
		{`len(x) > 1`, "no functions (1:1)"}, {`now() > x`, "no functions"}, {`x.trim() == ""`, "no functions"},
		{`x | upper()`, "no functions"},
		{`all(x, # > 1)`, "no functions"}, {`foo(1)`, "no functions"}, {`let a = 1; a == x`, "no variables"},
		{`x; y`, "no variables"},
		{`$env == 1`, "$env can only precede"}, {`$env[x] == 1`, "$env can only precede"}, {`x matches y`, "pattern"},
		{`x matches "["`, "missing closing"},
		{`x in 1..y`, "range"}, {`x in 1..100000`, "range"}, {`x in 5..1`, "range"}, {`{"a": 1} == x`, "compare"},
		{`"a" + "b"`, "bool"}, {`5`, "bool"},
		{`"a" > 1`, "(1:5)"}, {strings.Repeat("x", MaxBytes+1), "limit"}, {`x == 99999999999999999999`, "integer"},
	} {
		_, err := Fields(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want an error with %q", c.text, err, c.want)
		}
	}
}

func TestFilterFieldsAreThoseOfTheEvent(t *testing.T) {
	names, err := Fields(`y.user == 1 and (x ?? z) in [a[b].c, $env["d e"]] or x > 1 ? t?.q : "s" == 's'`)
	if want := []string{"a", "b", "d e", "t", "x", "y", "z"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
}
