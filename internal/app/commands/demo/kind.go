package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/input"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// kindFlags say what is counted in a file.
type kindFlags struct {
	kind string
	input.ValueFlags
	statistics deployment.Statistics
	buckets    int
}

func (f *kindFlags) register(flags *pflag.FlagSet, c *chosenFlags) {
	f.kind = metrickind.Offered()[0].Name
	flags.Var(cli.OneOf(&f.kind, metrickind.Names(metrickind.Offered())...), "kind", "")
	f.RegisterValues(flags)
	flags.Int64Var(&c.min, "min", 0, "")
	flags.Int64Var(&c.max, "max", 0, "")
	s := &f.statistics
	flags.Float64SliceVar(&s.Ranks, "ranks", nil, "")
	flags.Float64SliceVar(&s.Edges, "edges", nil, "")
	flags.Lookup("ranks").DefValue, flags.Lookup("edges").DefValue = "", "" // not [] in the help
	flags.IntVar(&f.buckets, "buckets", 10, "")
	flags.Var(cli.OneOf(&s.Scale, deployment.ScaleLinear, deployment.ScaleLogarithmic), "scale", "")
	flags.StringSliceVar(&s.Also, "also", nil, "")
}

// kindOf is the kind that is counted.
func (f *kindFlags) kindOf() metrickind.Kind { return metrickind.Of(f.kind) }

// ranged says whether the range of values was given.
func (c *chosenFlags) ranged() bool { return c.min != 0 || c.max != 0 }

// configured is the kind as settings name it: "" for the usual one.
func (f *kindFlags) configured() string {
	if f.kind == metrickind.Offered()[0].Name {
		return ""
	}
	return f.kind
}

// checkKind refuses flags that do not fit the kind. Of values that can be 0 a target is relative
// only where it was given.
func (f *demoFlags) checkKind(changed func(string) bool) error {
	k := f.kindOf()
	if err := f.checkStatistics(changed); err != nil {
		return err
	}
	if k.NotPrivate != "" && f.keyField != "" && f.publicKeys == "" {
		return fmt.Errorf("--kind %s needs --public-keys: %s, so keys cannot be private. Or leave --key-field out",
			f.kind, k.NotPrivate)
	}
	if !k.Values() {
		for _, name := range []string{"decimals", "decimal-comma", "value-field", "no-value", "min", "max"} {
			if changed(name) {
				return fmt.Errorf("--%s is only used with --kind %s", name,
					spelling.List(metrickind.Names(metrickind.Valued()), " or "))
			}
		}
		return nil
	}
	if f.Decimals < 0 || f.Decimals > event.MaxDecimals {
		return fmt.Errorf("--decimals is %d: it must be from 1 to %d", f.Decimals, event.MaxDecimals)
	}
	if f.ValueField == "" {
		return fmt.Errorf("--kind %s needs --value-field: the column or path of the values", f.kind)
	}
	if least, most := changed("min"), changed("max"); (least || most) && f.min >= f.max {
		switch {
		case !most:
			return fmt.Errorf("--min is %d: give --max, too, and make it greater", f.min)
		case !least:
			return fmt.Errorf("--max is %d: give --min, too, and make it smaller", f.max)
		}
		return fmt.Errorf("--min is %d and --max %d: --max must be greater", f.min, f.max)
	}
	if least, _ := k.Range(metrickind.Bounds{Events: 1, Min: f.min, Max: f.max}); !changed("relative") &&
		(k.Vector != nil || least < 0) {
		f.relative = 0
	}
	if f.ranged() && f.choosesAbsolute() {
		f.absolute = deployment.CoarseTarget(k, metrickind.Bounds{Events: 1, Min: f.min, Max: f.max}, f.confidence)
	}
	return nil
}

// choosesAbsolute says that the target is an absolute one, and not given.
func (f *demoFlags) choosesAbsolute() bool {
	return f.kindOf().Vector != nil && !f.given("relative") && !f.given("absolute")
}

// size is what the threshold of private keys counts.
func (f *kindFlags) size() string {
	if f.kindOf().OncePerUser {
		return "users"
	}
	return "events"
}

// needed names what a record must have.
func (f *kindFlags) needed() string {
	if f.kindOf().Values() {
		return "user, key, time or value"
	}
	return "user, key or time"
}

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
		f.min, f.max = int64(slices.Min(edges)), int64(slices.Max(edges))
	}
	f.relative = 0
	return nil
}
