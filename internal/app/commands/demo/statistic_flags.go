package demo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// numbersValue is a flag with a list of numbers, each above low and below high. must and like say
// in errors what is expected, and give an example.
type numbersValue struct {
	to         *[]float64
	low, high  float64
	must, like string
	check      func([]float64) error // nil: none
}

// checkEdges refuses numbers that are no edges of a histogram.
func checkEdges(numbers []float64) error {
	var edges []int64
	for _, v := range numbers {
		if v != math.Trunc(v) {
			return fmt.Errorf("%v is not a whole number", v)
		}
		edges = append(edges, int64(v))
	}
	if n := len(edges); n < 3 || n > metrickind.MostBuckets+1 {
		return fmt.Errorf("it has %s: a histogram needs 3 to %d", terminal.Count(n, "edge"), metrickind.MostBuckets+1)
	}
	if _, err := metrickind.Buckets(edges); err != nil {
		return errors.New("the edges do not rise: list them in ascending order, each once, with no commas inside a " +
			"number")
	}
	return nil
}

// String implements pflag.Value.
func (n *numbersValue) String() string {
	var texts []string
	if n.to != nil {
		for _, one := range *n.to {
			texts = append(texts, strconv.FormatFloat(one, 'g', -1, 64))
		}
	}
	return strings.Join(texts, ",")
}

// Set implements pflag.Value.
func (n *numbersValue) Set(text string) error {
	*n.to = nil
	if strings.HasSuffix(text, ",") {
		return fmt.Errorf("it ends with a comma: leave no spaces between the numbers, as in %s", n.like)
	}
	for _, one := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(one), 64)
		if err != nil || !(v > n.low && v < n.high) {
			return fmt.Errorf("%q must be %s: write it like %s", text, n.must, n.like)
		}
		*n.to = append(*n.to, v)
	}
	if n.check == nil {
		return nil
	}
	return n.check(*n.to)
}

// Type implements pflag.Value.
func (*numbersValue) Type() string { return "numbers" }

// statisticFlags are the flags of kinds with a tree: each function reports whether a kind with this
// tree has the flag.
var statisticFlags = map[string]func(*metrickind.Tree) bool{
	"ranks":   func(t *metrickind.Tree) bool { return !t.Edges },
	"edges":   func(t *metrickind.Tree) bool { return t.Edges },
	"buckets": func(t *metrickind.Tree) bool { return t.Edges },
	"scale":   func(*metrickind.Tree) bool { return true },
}

// checkStatistics refuses flags that the kind does not have, and --relative for kinds with a tree.
// For these kinds it sets the default target, and the range from --edges if no flag gives a range.
func (f *demoFlags) checkStatistics(changed func(string) bool) error {
	tree := f.kindOf().Tree
	if changed("also") && len(f.statistics.Also) == 0 {
		return errEmpty("also")
	}
	for i := range f.statistics.Also {
		f.statistics.Also[i] = strings.TrimSpace(f.statistics.Also[i])
	}
	if changed("buckets") {
		f.statistics.Buckets = f.buckets
	}
	for name, has := range statisticFlags {
		if !changed(name) || tree != nil && has(tree) {
			continue
		}
		var kinds []string
		for _, k := range metrickind.Offered() {
			if k.Tree != nil && has(k.Tree) {
				kinds = append(kinds, k.Name)
			}
		}
		return fmt.Errorf("--%s is only used with --kind %s", name, spelling.List(kinds, " or "))
	}
	switch {
	case tree == nil:
		return nil
	case f.relative != 0 && changed("relative"):
		return fmt.Errorf("--relative is not used with --kind %s: give an absolute target, %s, for example "+
			"--absolute %s", f.kind, tree.Unit, words.Digits(tree.Target))
	case tree.Edges && !changed("edges") && !(changed("min") && changed("max")):
		return fmt.Errorf("--kind %s needs --edges, or --min and --max: choose them by what you know, without looking "+
			"at the file, for example --edges 0,10,20,50", f.kind)
	case changed("edges") && changed("buckets"):
		return errors.New("--edges already says what the buckets are: leave --buckets out")
	}
	if !changed("absolute") && !changed("relative") { // --relative 0 is no target
		f.absolute = tree.Target
	}
	if edges := f.statistics.Edges; len(edges) > 0 && !changed("min") && !changed("max") {
		f.min, f.max = int64(edges[0]), int64(edges[len(edges)-1])
	}
	f.relative = 0
	return nil
}
