package demo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

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
