package reference

import (
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Config is everything besides the log that decides what is released. Times are milliseconds.
type Config struct {
	Incarnation [16]byte
	Generation  uint32
	Counts      schemas.CountsEncoding
	Format      event.Format // with the filters of all metrics
	Decoding    []event.Option
	UserHash    [32]byte
	Noise       noisereduction.NoiseKey
	Budget      int64 // what one account may lose, in units of 2^-40
	Period      int64 // of the budget; 0 is one period for ever
	Start       int64 // Unix time; a multiple of the smallest slide
	Lateness    int64
	Skew        int64
	Slack       int64
	NoFuture    bool // the tests for the future are off
	// Clock limits the trust in producers' times: stamps beyond it + Skew are the future's and do
	// not count. 0 trusts all. Ahead has the offsets, by partition, that were ahead of a reader's
	// clock.
	Clock   int64
	Ahead   map[int32]map[int64]bool
	Zone    *wallclock.Clock // windows and periods begin by it
	Metrics []schemas.MetricSpec

	// Before is the generation that was in force before turn From, which begins at Since; nil for
	// the first one. Below are, by partition, the offsets below which Before's times judge.
	Before *Config
	From   uint64
	Since  int64
	Below  map[int32]int64

	// By metric, set by Compile: ladders, nil for components and statistics; and the metrics of
	// further components.
	ladders []*ladder
	further [][]int

	// path, when set, decides in place of the ladders where releases stop. Tests walk along one
	// path of outputs with different inputs by it.
	path func(metric int, w window, key string) stop
}

// Cuts are the CLOSE records: turn → partition → the first offset that came too late for the turn.
// A partition or turn that is missing closed after all of them.
type Cuts map[uint64]map[int32]int64

// Compile works the ladders of a configuration out, which takes most of the time of a small
// run. Run does it where it has not been done; the metrics must not change afterwards.
func Compile(c Config) (Config, error) {
	if c.ladders != nil {
		return c, nil
	}
	further := make([][]int, len(c.Metrics))
	for i, m := range c.Metrics {
		if further[i] = c.FurtherOf(i); max(uint64(c.Budget), uint64(m.Burst)) >= endless {
			return c, fmt.Errorf("computing the accounts of metric %q: its amounts do not fit", m.Name)
		}
	}
	c.ladders, c.further = make([]*ladder, len(c.Metrics)), further
	for i, m := range c.Metrics {
		if isComponent(m) || isStatistic(m) {
			continue // drawn once, or computed from what was drawn
		}
		var err error
		if c.ladders[i], err = newLadder(m); err != nil {
			return c, err
		}
	}
	if c.Before != nil {
		before, err := Compile(*c.Before)
		if err != nil {
			return c, err
		}
		c.Before = &before
	}
	return c, nil
}

func (c *Config) metric(name string) (int, bool) {
	for i, m := range c.Metrics {
		if m.Name == name {
			return i, true
		}
	}
	return 0, false
}

// components are the kinds of a kind's further components, in the order in which they are drawn.
func components(kind string) []string {
	switch kind {
	case "mean":
		return []string{"mean_offset"}
	case "variance", "standard_deviation":
		return []string{"mean_offset", "mean_square"}
	}
	return nil
}

// ComponentsOf returns the kinds of all further components of a metric that are sums: as many as
// its own kind or the kind of a value that is released beside it needs.
func (c *Config) ComponentsOf(metric int) []string {
	need := components(c.Metrics[metric].Kind)
	for _, m := range c.Metrics {
		of, beside := strings.CutPrefix(m.Kind, "also_")
		if its := components(of); beside && m.Of == c.Metrics[metric].Name && len(its) > len(need) {
			need = its
		}
	}
	if hasTree(c.Metrics[metric].Kind) && len(need) > 0 { // whose sums are divided by a number of their own
		return append(need, "mean_events")
	}
	return need
}

// isComponent reports whether a metric is a further component of another one.
func isComponent(m schemas.MetricSpec) bool {
	return m.Kind == "mean_offset" || m.Kind == "mean_square" || m.Kind == "mean_events" || isNodes(m)
}

// FurtherOf returns the metrics of the further components of a metric.
func (c *Config) FurtherOf(metric int) (all []int) {
	if c.further != nil {
		return c.further[metric]
	}
	for i, m := range c.Metrics {
		if isComponent(m) && !isNodes(m) && m.Of == c.Metrics[metric].Name {
			all = append(all, i)
		}
	}
	return all
}

// admits reports whether a metric has windows of its own, to which individuals are admitted.
func admits(m *schemas.MetricSpec) bool { return m.Of == "" || m.Kind == "counted" }

// countedIn returns the metric of whose events a share counts the counted ones.
func (c *Config) countedIn(share *schemas.MetricSpec) int {
	of, _ := c.metric(share.Of)
	return of
}
