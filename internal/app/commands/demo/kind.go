package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// MetricKind returns the kind of metric to compute.
func (f *inputFlags) MetricKind() metrickind.Kind { return metrickind.Of(f.Kind) }

// ranged reports whether the range of values was given.
func (f *inputFlags) ranged() bool { return f.Min != 0 || f.Max != 0 }

// checkKind sets the defaults of the kind. It refuses flags that do not fit the kind if the
// pipeline does not see them, or would take them for a range that is to be chosen.
func (f *demoFlags) checkKind(changed func(string) bool) error {
	k := f.MetricKind()
	for i := range f.Also {
		f.Also[i] = strings.TrimSpace(f.Also[i])
	}
	if changed("buckets") {
		if f.Buckets = f.buckets; f.Buckets == 0 {
			return command.Must("buckets", "from 2 to %d", metrickind.MostBuckets)
		}
	}
	if k.NotPrivate != "" && f.keyField != "" && f.publicKeys == "" {
		return fmt.Errorf("--kind %s needs --public-keys: %s, so keys cannot be private. Or count all events "+
			"together, without --key-field", k.Name, k.NotPrivate)
	}
	if !k.Values() {
		for _, name := range []string{"decimals", "decimal-comma", "value-field", "no-value"} {
			if changed(name) {
				return fmt.Errorf("--%s is only used with --kind %s", name,
					spelling.List(metrickind.Names(metrickind.Valued()), " or "))
			}
		}
		return nil
	}
	switch {
	case f.Decimals < 0 || f.Decimals > event.MaxDecimals:
		return fmt.Errorf("--decimals is %d: it must be from 1 to %d", f.Decimals, event.MaxDecimals)
	case f.ValueField == "":
		return fmt.Errorf("--kind %s needs --value-field: the column or path of the values", k.Name)
	case (changed("min") || changed("max")) && f.Min >= f.Max:
		return fmt.Errorf("--min is %d and --max %d: give both, and make --max greater", f.Min, f.Max)
	case k.Tree != nil && k.Tree.Edges && !changed("edges") && !(changed("min") && changed("max")):
		return fmt.Errorf("--kind %s needs --edges, or --min and --max: choose them by what you know, without looking "+
			"at the file, for example --edges 0,10,20,50", k.Name)
	}
	if k.Tree != nil && !changed("absolute") && !changed("relative") { // --relative 0 is no target
		f.Target.Absolute = k.Tree.Target
	}
	if len(f.Edges) > 0 && !changed("min") && !changed("max") {
		f.Min = int64(slices.Min(f.Edges))
		f.Max = max(f.Min+1, int64(slices.Max(f.Edges))) // the pipeline then names wrong edges
	}
	if f.ranged() && f.choosesAbsolute() {
		f.Target.Absolute = f.coarseTarget(f.Min, f.Max)
	}
	return nil
}

// coarseTarget returns the default absolute target for a range of values.
func (f *demoFlags) coarseTarget(least, most int64) float64 {
	return deployment.CoarseTarget(f.MetricKind(), metrickind.Bounds{Events: 1, Min: least, Max: most},
		f.Target.Confidence)
}

// choosesAbsolute reports whether the target is absolute and follows from the range of values.
func (f *demoFlags) choosesAbsolute() bool {
	return f.MetricKind().Vector != nil && !f.given("relative") && !f.given("absolute")
}

// Counted names the things that the threshold of private keys counts.
func (f *inputFlags) Counted() string {
	if f.MetricKind().OncePerUser {
		return "users"
	}
	return "events"
}
