package reference

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// check refuses what the definitions do not allow, so that no test compares with nonsense.
func (c Config) check() error {
	for i, m := range c.Metrics {
		what := problem(m)
		if what == "" {
			what = c.problemBeside(i, m)
		}
		if what != "" {
			return fmt.Errorf("metric %q: %s", m.Name, what)
		}
	}
	return nil
}

// problem looks at one metric alone.
func problem(m schemas.MetricSpec) string {
	switch {
	case !slices.Contains([]string{"events", "distinct_users", "sum", "mean", "variance", "standard_deviation", "mean_offset", "mean_square", "mean_events", "quantiles", "quantile_nodes", "quantile_log_nodes", "quantile", "histogram", "histogram_buckets", "bucket_share", "also_events", "also_mean", "also_variance", "also_standard_deviation", "counted"}, m.Kind):
		return fmt.Sprintf("kind is %q", m.Kind)
	case !slices.Contains([]string{"public", "private", "from"}, m.KeyMode):
		return fmt.Sprintf("key mode is %q", m.KeyMode)
	case m.WindowSlide <= 0 || m.WindowSize < m.WindowSlide || m.WindowSize%m.WindowSlide != 0:
		return "the window is no multiple of its slide"
	case m.Burst != 0 && m.Horizon <= 0:
		return "a bucket needs a horizon"
	case m.KeyMode == "public" && !slices.IsSortedFunc(m.PublicKeys, slices.Compare[[]byte]):
		return "public keys are not sorted"
	case m.Kind == "sum":
		return problemOfSum(m)
	case components(m.Kind) != nil && m.Min >= m.Max:
		return "its values lie between two different bounds"
	case m.Kind != "mean" && components(m.Kind) != nil && m.Relative != 0:
		return "a variance can be 0 and has no relative target"
	case hasTree(m.Kind) && (m.Min >= m.Max || m.Absolute != 0):
		return "its values lie between two different bounds, and its target is that of the number of events"
	case m.Kind == "counted" && (m.KeyMode != "public" || !slices.EqualFunc(m.PublicKeys, [][]byte{[]byte("counted"), []byte("left_out")}, bytes.Equal)):
		return "a share has the keys counted and left_out"
	}
	return ""
}

func problemOfSum(m schemas.MetricSpec) string {
	switch {
	case m.KeyMode == "private":
		return "a sum has no private keys of its own"
	case m.Min > m.Max:
		return "the bounds of a value are in the wrong order"
	case m.Min < 0 && m.Relative != 0:
		return "a sum that may be negative has no relative target"
	}
	return ""
}

// problemBeside looks at a metric among the others and at the deployment.
func (c Config) problemBeside(i int, m schemas.MetricSpec) string {
	if m.Filter != "" && !slices.Contains(c.Format.Filters, m.Filter) {
		return "the event format does not have its filter"
	}
	period := ""
	if c.Period != 0 {
		period = (time.Duration(c.Period) * time.Millisecond).String()
	}
	if m.Period != period {
		return fmt.Sprintf("period is %q, not %q", m.Period, period)
	}
	sameWindows := func(of int) bool {
		return c.Metrics[of].WindowSize == m.WindowSize && c.Metrics[of].WindowSlide == m.WindowSlide
	}
	if m.Kind == "counted" {
		if of, ok := c.metric(m.Of); !ok || of >= i || c.Metrics[of].Of != "" || !sameWindows(of) || c.Metrics[of].Filter != m.Filter {
			return "a share does not stand after a metric with its windows and filter"
		}
	}
	if hasTree(m.Kind) && c.nodesOf(i) < 0 {
		return "no metric has its nodes"
	}
	if m.Kind == "histogram" && !c.divides(i, m.Min, m.Max) {
		return "its edges do not rise from its least value to its greatest"
	}
	if m.Kind == "bucket_share" {
		if of, ok := c.metric(m.Of); !ok || c.Metrics[of].Kind != "histogram" || !c.divides(of, m.Min, m.Max) {
			return "a share is not between two edges of a histogram"
		}
	}
	if of, also := strings.CutPrefix(m.Kind, "also_"); also {
		base, ok := c.metric(m.Of)
		if !ok || c.Metrics[base].Kind == of || !hasTree(c.Metrics[base].Kind) && components(c.Metrics[base].Kind) == nil || c.Metrics[base].Min != m.Min || c.Metrics[base].Max != m.Max {
			return "its metric has not its components"
		}
	}
	var further []string
	for _, at := range c.FurtherOf(i) {
		further = append(further, c.Metrics[at].Kind)
	}
	if !slices.Equal(further, c.ComponentsOf(i)) {
		return "its components are not those that it needs"
	}
	if m.KeyMode == "from" && !isComponent(m) && !isStatistic(m) {
		base, ok := c.metric(m.KeysFrom)
		if !ok || !sameWindows(base) || c.Metrics[base].KeyMode != "private" {
			return "keys can be taken from a metric with private keys and the same windows only"
		}
	}
	return ""
}

// divides reports whether the edges of a histogram rise and contain both ends of a part of it.
func (c Config) divides(histogram int, least, greatest int64) bool {
	s := c.stepsOf(histogram)
	n := len(s.edges)
	for i := 1; i < n; i++ {
		if s.edges[i-1] >= s.edges[i] {
			return false
		}
	}
	return n > 2 && s.edges[0] == s.min && s.edges[n-1] == s.max && least < greatest &&
		slices.Contains(s.edges, least) && slices.Contains(s.edges, greatest)
}
