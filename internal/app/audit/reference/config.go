package reference

import (
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Config contains everything except the log that determines releases. Times are in milliseconds.
type Config struct {
	Incarnation [16]byte
	Generation  uint32
	Counts      schemas.CountsEncoding
	Format      event.Format // with the filters of all metrics
	Decoding    []event.Option
	UserHash    [32]byte
	Noise       noisereduction.NoiseKey
	Budget      int64 // the loss that one account may reach, in units of 2^-40
	Period      int64 // length of a budget period; 0: a single period that never ends
	Start       int64 // Unix time; a multiple of the smallest slide
	Lateness    int64
	Skew        int64
	Slack       int64
	AllowFuture bool // events from the future are accepted
	// Latest is the newest time that producers are trusted with: events stamped after Latest + Skew
	// are in the future and do not count. 0 is no limit.
	Latest  int64
	Ahead   map[int32]map[int64]bool // by partition: offsets of records with timestamps ahead of a reader's clock
	Zone    *wallclock.Clock         // wall clock by which windows and periods begin
	Metrics []schemas.MetricSpec

	// Before is the generation that was in force before turn From, which begins at Since; nil for
	// the first one. Below is, by partition, the offset up to which Before's time settings apply.
	Before *Config
	From   uint64
	Since  int64
	Below  map[int32]int64

	ladders []*ladder // by metric, set by Compile; nil for components and statistics
	extra   [][]int   // by metric, set by Compile: the metrics of its additional components

	// path, if set, replaces the ladders: it determines where each release stops. Tests use it to
	// replay different inputs along the same path of outputs.
	path func(metric int, w window, key string) stop
}

// Cuts are the CLOSE records: turn → partition → the first offset that came too late for the turn.
// A partition or turn that is absent closed after all its records.
type Cuts map[uint64]map[int32]int64

// Compile computes the ladders of a configuration. A small replay spends most of its time here.
// NewReplay calls Compile if necessary. The metrics must not change afterwards.
func Compile(c Config) (Config, error) {
	if c.ladders != nil {
		return c, nil
	}
	extra := make([][]int, len(c.Metrics))
	for i, m := range c.Metrics {
		if extra[i] = c.ExtraOf(i); max(uint64(c.Budget), uint64(m.Burst)) >= unaffordable {
			return c, fmt.Errorf("computing the accounts of metric %q: its budget or burst exceeds 2^62−2 units",
				m.Name)
		}
	}
	c.ladders, c.extra = make([]*ladder, len(c.Metrics)), extra
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

// components returns the kinds of a kind's additional components, in the order of their draws.
func components(kind string) []string {
	switch kind {
	case "mean":
		return []string{"mean_offset"}
	case "variance", "standard_deviation":
		return []string{"mean_offset", "mean_square"}
	}
	return nil
}

// ComponentsOf returns the kinds of all additional components of a metric that are sums: those
// needed by its own kind, or by the kind of a value released alongside it.
func (c *Config) ComponentsOf(metric int) []string {
	needed := components(c.Metrics[metric].Kind)
	for _, m := range c.Metrics {
		kind, alongside := strings.CutPrefix(m.Kind, "also_")
		if more := components(kind); alongside && m.Of == c.Metrics[metric].Name && len(more) > len(needed) {
			needed = more
		}
	}
	if hasTree(c.Metrics[metric].Kind) && len(needed) > 0 { // sums are divided by an event count drawn separately
		return append(needed, "mean_events")
	}
	return needed
}

// isComponent reports whether a metric is an additional component of another one.
func isComponent(m schemas.MetricSpec) bool {
	return m.Kind == "mean_offset" || m.Kind == "mean_square" || m.Kind == "mean_events" || isNodes(m)
}

// ExtraOf returns the metrics of the additional components of a metric.
func (c *Config) ExtraOf(metric int) (all []int) {
	if c.extra != nil {
		return c.extra[metric]
	}
	for i, m := range c.Metrics {
		if isComponent(m) && !isNodes(m) && m.Of == c.Metrics[metric].Name {
			all = append(all, i)
		}
	}
	return all
}

// admits reports whether individuals are admitted to a metric's own windows.
func admits(m *schemas.MetricSpec) bool { return m.Of == "" || m.Kind == "counted" }

// countedIn returns the metric whose counted events a share measures.
func (c *Config) countedIn(share *schemas.MetricSpec) int {
	base, _ := c.metric(share.Of)
	return base
}
