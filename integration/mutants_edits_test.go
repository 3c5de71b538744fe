package integration

import (
	"strings"
	"testing"
)

const original = `package p

func free() int { return 1 }

type box[T any] struct{ n int }

func (b *box[T]) fill(n int) (int, error) {
	// more of it
	for i := range n {
		if i   > 3 && b.n != n {
			b.n += take(
				i, n)
		}
	}
	switch n {
	case 1:
		b.n = n - 1
	}
	if b.n > 3 { return b.n, nil }
	return b.n + 2, nil
}
`

func mutated(t *testing.T, text string, list ...mutant) (string, error) {
	t.Helper()
	all := functions{}
	if err := all.add("p/p.go", []byte(text)); err != nil {
		t.Fatal(err)
	}
	files, err := all.apply(list)
	return string(files["p/p.go"]), err
}

func TestEachChangeIsMadeInItsPlace(t *testing.T) {
	for want, change := range map[string]mutation{
		`if (i   > 3 && b.n != n) || mutated("m") {`:                        always("i > 3"),
		`if (i   > 3 && b.n != n) && !mutated("m") {`:                       never("n != n"),
		`return mutate("m", 7, b.n + 2), nil`:                               replace("b.n+2", "7"),
		"b.n += mutate(\"m\", 0, take(\n\t\t\t\ti, n))":                     replace("take(…)", "0"),
		"if !mutated(\"m\") { b.n += take(\n\t\t\t\ti, n) }":                drop("take(i, n"),
		`if mutated("m") { n++ }; b.n = n - 1`:                              insertBefore("n - 1", "n++"),
		`b.n = n - 1; if mutated("m") { b.n = 5 }`:                          insertAfter("b.n = n", "b.n = 5"),
		`if mutated("m") { n = 1 }; for i := range n {`:                     insertBefore("range n", "n = 1"),
		`if !mutated("m") { b.n = mutate("m", 4, n - 1) }`:                  both(drop("n - 1"), replace("n - 1", "4")),
		`if mutated("m") { n = 0 }; b.n = n - 1; if mutated("m") { n = 2 }`: both(insertBefore("n-1", "n = 0"), insertAfter("n-1", "n = 2")),
	} {
		got, err := mutated(t, original, mutant{name: "m", in: "box.fill", change: change})
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("want %s, got %v\n%s", want, err, got)
		}
	}
}

func TestWhatIsNotThereOnceIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		in     string
		change mutation
		want   string
	}{
		"no function":    {"box.empty", never("i > 3"), "mutant m: looking for function box.empty: there is none"},
		"two functions":  {"twice", never("i > 3"), "it may be any of 2: p.a.twice, p.b.twice"},
		"no condition":   {"box.fill", never("i > 4"), `the condition "i > 4" in p/p.go: it stands there 0 times`},
		"two conditions": {"p.box.fill", always("> 3"), "2 times"},
		"two values":     {"fill", replace("b.n", "1"), "times"},
		"no statement":   {"fill", drop("fill("), "0 times"},
		"not Go":         {"free", replace("1", "+"), "parsing p/p.go with its mutants"},
	} {
		_, err := mutated(t, original+"func (a) twice() {}\nfunc (*b) twice() {}\n", mutant{name: "m", in: test.in, change: test.change})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCodeThatMovesTakesItsMutantsAlong(t *testing.T) {
	moved := strings.NewReplacer("i   > 3", "i > 3", "package p", "package q", "take(\n\t\t\t\ti, n)", "take(i, n)").Replace(original)
	for _, text := range []string{original, moved} {
		if _, err := mutated(t, text, mutant{name: "a", in: "fill", change: never("i>3")}, mutant{name: "b", in: "free", change: replace("1", "0")}); err != nil {
			t.Error(err)
		}
	}
}
