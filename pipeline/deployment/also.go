package deployment

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// percentile matches p99, p99.9 and so on.
var percentile = regexp.MustCompile(`^p([0-9]{1,2}(?:\.[0-9]+)?)$`)

// rankNamed returns the rank of the quantile with this name, as a configuration has it; "" if it is
// the name of something else.
func rankNamed(name string) string {
	if name == "median" {
		return "0.5"
	}
	found := percentile.FindStringSubmatch(name)
	if found == nil {
		return ""
	}
	percent, err := strconv.ParseFloat(found[1], 64)
	if err != nil || percent == 0 {
		return ""
	}
	return strconv.FormatFloat(percent/100, 'g', 6, 64)
}

// alsoMeant returns the statistic that was probably meant by a name, or "".
func alsoMeant(name string) string {
	for _, of := range metrickind.AllAlso() {
		if slices.Contains(metrickind.AlsoKind(of).Texts.Called, strings.ToLower(name)) {
			return of
		}
	}
	return spelling.Nearest(metrickind.AllAlso(), name)
}

// alsoRefused returns the error for a name in also that a metric of the kind does not release. It
// says what to do.
func alsoRefused(kind metrickind.Kind, name string) error {
	possible, meant := kind.Also(), alsoMeant(name)
	refuse := func(format string, args ...any) error { return Invalid("Also", format, args...) }
	switch rank := rankNamed(strings.ToLower(name)); {
	case name == "":
		return refuse("a name is empty: remove it, or the comma beside it")
	case rank != "" && kind.Tree != nil && !kind.Tree.Edges:
		return refuse("%s is one of the quantiles: leave it out here, and give %s", name, with("Metrics.Ranks", "["+rank+"]"))
	case rank != "":
		return refuse("%s is a quantile: leave it out here, and give %s with %s", name, with("Metrics.Kind", metrickind.Quantiles), with("Metrics.Ranks", "["+rank+"]"))
	case meant == kind.Name:
		return refuse("%s is released anyway, as the metric's own value: leave it out", name)
	case meant != "" && !slices.Contains(possible, meant):
		return refuse("the number of events is released anyway, as the metric's own value: leave %s out", name)
	case meant != "":
		return refuse("there is no statistic %q: did you mean %s?", name, meant)
	}
	return refuse("there is no statistic %q: choose from %s", name, strings.Join(possible, ", "))
}
