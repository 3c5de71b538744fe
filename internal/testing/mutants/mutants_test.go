package mutants

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

func mutated(t *testing.T, text string, list ...Mutant) (string, error) {
	t.Helper()
	all := functions{}
	if err := all.add("p/p.go", []byte(text)); err != nil {
		t.Fatal(err)
	}
	files, err := all.apply(list)
	return string(files["p/p.go"]), err
}

func TestEachChangeIsMadeInItsPlace(t *testing.T) {
	for want, change := range map[string]Change{
		`if (i   > 3 && b.n != n) || mutated("m") {`:                        Always("i > 3"),
		`if (i   > 3 && b.n != n) && !mutated("m") {`:                       Never("n != n"),
		`return mutate("m", 7, b.n + 2), nil`:                               Value("b.n+2", "7"),
		"b.n += mutate(\"m\", 0, take(\n\t\t\t\ti, n))":                     Value("take(…)", "0"),
		"if !mutated(\"m\") { b.n += take(\n\t\t\t\ti, n) }":                Drop("take(i, n"),
		`if mutated("m") { n++ }; b.n = n - 1`:                              Before("n - 1", "n++"),
		`b.n = n - 1; if mutated("m") { b.n = 5 }`:                          After("b.n = n", "b.n = 5"),
		`if mutated("m") { n = 1 }; for i := range n {`:                     Before("range n", "n = 1"),
		`if !mutated("m") { b.n = mutate("m", 4, n - 1) }`:                  All(Drop("n - 1"), Value("n - 1", "4")),
		`if mutated("m") { n = 0 }; b.n = n - 1; if mutated("m") { n = 2 }`: All(Before("n-1", "n = 0"), After("n-1", "n = 2")),
	} {
		got, err := mutated(t, original, Mutant{"m", "box.fill", change})
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("want %s, got %v\n%s", want, err, got)
		}
	}
}

func TestWhatIsNotThereOnceIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		in     string
		change Change
		want   string
	}{
		"no function":    {"box.empty", Never("i > 3"), "mutant m: looking for function box.empty: there is none"},
		"two functions":  {"twice", Never("i > 3"), "it may be any of 2: p.a.twice, p.b.twice"},
		"no condition":   {"box.fill", Never("i > 4"), `the condition "i > 4" in p/p.go: it stands there 0 times`},
		"two conditions": {"p.box.fill", Always("> 3"), "2 times"},
		"two values":     {"fill", Value("b.n", "1"), "times"},
		"no statement":   {"fill", Drop("fill("), "0 times"},
		"not Go":         {"free", Value("1", "+"), "parsing p/p.go with its mutants"},
	} {
		_, err := mutated(t, original+"func (a) twice() {}\nfunc (*b) twice() {}\n", Mutant{"m", test.in, test.change})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCodeThatMovesTakesItsMutantsAlong(t *testing.T) {
	moved := strings.NewReplacer("i   > 3", "i > 3", "package p", "package q", "take(\n\t\t\t\ti, n)", "take(i, n)").Replace(original)
	for _, text := range []string{original, moved} {
		if _, err := mutated(t, text, Mutant{"a", "fill", Never("i>3")}, Mutant{"b", "free", Value("1", "0")}); err != nil {
			t.Error(err)
		}
	}
}
