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
	bad           float64 // lost records with an unreadable value
	valued        float64 // records that are not broken in any other way
	reasons       []reason
}

// reason is one cause of losses, and the number of lost records.
type reason struct {
	words string
	n     float64
}

// Lost returns the records lost between two reports of the same deployment. An empty before stands
// for its beginning. A record is lost if it was dead-lettered, lies before the start, is late, in
// the future or overtaken, or was accepted but is beyond the allowance. A record that a filter or a
// list of keys excludes is not lost, nor is one whose window is open.
//
// The numbers are exact if there is one metric and its windows do not overlap. If windows overlap,
// a record that one of its n windows loses counts as 1/n of a loss. With several metrics, the
// tallies do not show which records they share. Lost then takes the metric with the most records,
// and multiplies that number by the share of records that all metrics together lose, so that a
// record that only one of two metrics counts is half a loss.
func Lost(before, now pipeline.Tallies) Loss {
	since := func(old, now uint64) float64 { return float64(now) - float64(old) } // < 0 if a change undid CLOSEs
	var lost, offered, most, decided float64
	for _, m := range now.Metrics {
		windows := 1.0 // windows of one record
		if now.Accepted > 0 {
			windows = max(1, float64(m.Pairs())/float64(now.Accepted))
		}
		old := named(before.Metrics, m.Metric)
		gone := since(old.Beyond, m.Beyond) / windows
		counted := since(old.Counted, m.Counted) / windows
		lost, offered, most = lost+gone, offered+gone+counted, max(most, gone+counted)
		decided = max(decided, gone+counted+since(old.Filtered, m.Filtered)/windows)
	}
	bad := since(before.DeadLettered[event.ClassBadValue], now.DeadLettered[event.ClassBadValue])
	out := Loss{bad: bad, reasons: []reason{
		{"dead-lettered, because their value cannot be read", bad},
		{"dead-lettered", since(before.Broken(), now.Broken()) - bad},
		{"before the start", since(before.BeforeStart, now.BeforeStart)},
		{"late", since(before.Late, now.Late)},
		{"of the future", since(before.Future, now.Future)},
		{"too late for a turn that was closed", since(before.Overtaken, now.Overtaken)},
	}}
	for _, r := range out.reasons {
		out.Lost += r.n
	}
	out.refused = out.Lost
	out.Records = out.Lost + max(since(before.Accepted, now.Accepted), decided)
	out.valued = out.Records - out.reasons[1].n
	if offered > 0 {
		gone := reason{"beyond the allowances of their users", most * lost / offered}
		out.Lost += gone.n
		out.reasons = append(out.reasons, gone)
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

// BadValues reports whether at least ten values, and more than 2 % of all, could not be read. If
// so, the others are not representative.
func (l Loss) BadValues() bool { return l.bad >= 10 && 50*l.bad > l.valued }

// Notable reports whether at least ten records, and one in a hundred, were lost for reasons other
// than allowances.
func (l Loss) Notable() bool { return l.refused >= 10 && 100*l.refused >= l.Records }

// Why returns the reasons without numbers: "most are late; some are of the future". It skips
// reasons that cost fewer than one in a hundred of the records.
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
