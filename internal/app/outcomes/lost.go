package outcomes

import (
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Loss counts the records that were lost before counting, by reason.
type Loss struct {
	Lost, Records float64
	refused       float64 // records lost for reasons other than allowances
	bad           float64 // records that were lost because their value cannot be read
	valued        float64 // records that are not broken in any other way
	reasons       []reason
}

// reason is one cause of losses, and the number of lost records.
type reason struct {
	words string
	n     float64
}

// Lost returns the records that were lost between two reports of the same deployment. An empty
// before stands for the beginning of the deployment. A record is lost if it was dead-lettered, lies
// before the start, is late, in the future or overtaken, or was accepted but is beyond the
// allowance. A record that a filter or a list of keys excludes is not lost, nor is a record whose
// window is open.
//
// The numbers are exact if there is one metric and its windows do not overlap. If windows overlap,
// a record that is lost in one of its n windows counts as 1/n of a loss. With several metrics, the
// tallies do not show which records the metrics share. Lost then multiplies the number of records
// of the metric with the most records by the share of records that all metrics together lose. A
// record that only one of two metrics counts is thus half a loss.
func Lost(before, now pipeline.Tallies) Loss {
	since := func(old, now uint64) float64 { return float64(now) - float64(old) } // negative if a change undid CLOSEs
	var lost, offered, most, decided float64
	for _, m := range now.Metrics {
		windows := 1.0 // mean number of windows that contain a record
		if now.Accepted > 0 {
			windows = max(1, float64(m.Pairs())/float64(now.Accepted))
		}
		earlier := named(before.Metrics, m.Metric)
		beyond := since(earlier.Beyond, m.Beyond) / windows
		counted := since(earlier.Counted, m.Counted) / windows
		lost, offered, most = lost+beyond, offered+beyond+counted, max(most, beyond+counted)
		decided = max(decided, beyond+counted+since(earlier.Filtered, m.Filtered)/windows)
	}
	bad := since(before.DeadLettered[event.ClassBadValue], now.DeadLettered[event.ClassBadValue])
	out := Loss{bad: bad, reasons: []reason{
		{"dead-lettered, because their value cannot be read", bad},
		{"dead-lettered", since(before.Broken(), now.Broken()) - bad},
		{"before the start", since(before.BeforeStart, now.BeforeStart)},
		{"late", since(before.Late, now.Late)},
		{"in the future", since(before.Future, now.Future)},
		{"too late for a turn that was closed", since(before.Overtaken, now.Overtaken)},
	}}
	for _, r := range out.reasons {
		out.Lost += r.n
	}
	out.refused = out.Lost
	out.Records = out.Lost + max(since(before.Accepted, now.Accepted), decided)
	out.valued = out.Records - out.reasons[1].n
	if offered > 0 {
		allowances := reason{"beyond the allowances of their users", most * lost / offered}
		out.Lost += allowances.n
		out.reasons = append(out.reasons, allowances)
	}
	return out
}

func named(metrics []pipeline.MetricTallies, name string) pipeline.MetricTallies {
	for _, m := range metrics {
		if m.Metric == name {
			return m
		}
	}
	return pipeline.MetricTallies{}
}

// Most reports whether more than half of the records were lost. --strict refuses such a run.
func (l Loss) Most() bool { return 2*l.Lost > l.Records }

// BadValues reports whether at least ten values, and more than 2% of all values, could not be
// read. The other values are then not representative.
func (l Loss) BadValues() bool { return l.bad >= 10 && 50*l.bad > l.valued }

// Notable reports whether at least ten records, and at least one in a hundred, were lost for
// reasons other than allowances.
func (l Loss) Notable() bool { return l.refused >= 10 && 100*l.refused >= l.Records }

// Why returns the reasons without numbers: "most are late; some are in the future". It omits
// reasons for which fewer than one in a hundred records were lost.
func (l Loss) Why() string {
	var parts []string
	for _, r := range l.reasons {
		switch {
		case 2*r.n > l.Records:
			parts = append(parts, "most are "+r.words)
		case r.n > 0 && 100*r.n >= l.Records:
			parts = append(parts, "some are "+r.words)
		}
	}
	return strings.Join(parts, "; ")
}
