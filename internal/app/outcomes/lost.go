package outcomes

import (
	"strings"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Loss is the number of records that were lost before counting, of how many, and by reason.
type Loss struct {
	Lost, Of float64
	refused  float64 // of Lost: not beyond the allowance
	bad      float64 // of Lost: the value cannot be read
	valued   float64 // of Of: not broken in another way
	reasons  []reason
}

// reason is how many records were lost in one way.
type reason struct {
	words string
	n     float64
}

// Lost returns what was lost between two reports of the same deployment; before is empty for
// everything since its beginning. A record is lost if it was dead-lettered, lies before the start,
// is late, of the future or overtaken, or if it was accepted and is beyond the
// allowance. A record that a filter or a list of keys leaves out is not lost, nor one whose window
// is open.
//
// With one metric over windows that do not overlap the numbers are exact. A metric over sliding
// windows loses a record in parts, by the number of its windows. Of several metrics the tallies do
// not say which records they have in common: what they lose is estimated as the greatest number of
// records that one of them takes, times the share that all of them lose of what they take. A record
// that one of two metrics counts and the other one does not is so lost by half.
func Lost(before, now pipeline.Tallies) Loss {
	since := func(old, now uint64) float64 { return float64(now) - float64(old) } // a change takes CLOSEs back
	var lost, took, most, decided float64
	for _, m := range now.Metrics {
		windows := 1.0 // of a record
		if now.Accepted > 0 {
			windows = max(1, float64(m.Pairs())/float64(now.Accepted))
		}
		old := named(before.Metrics, m.Metric)
		gone := since(old.Beyond, m.Beyond) / windows
		counted := since(old.Counted, m.Counted) / windows
		lost, took, most = lost+gone, took+gone+counted, max(most, gone+counted)
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
	out.Of = out.Lost + max(since(before.Accepted, now.Accepted), decided)
	out.valued = out.Of - out.reasons[1].n
	if took > 0 {
		gone := reason{"beyond the allowances of their users", most * lost / took}
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

// Most reports whether more than half of the records were lost: what --strict refuses.
func (l Loss) Most() bool { return 2*l.Lost > l.Of }

// BadValues reports whether at least ten values, and more than 2 % of all, could not be read: the
// others are no sample of all.
func (l Loss) BadValues() bool { return l.bad >= 10 && 50*l.bad > l.valued }

// Some reports whether at least ten records, and one in a hundred, were lost for other reasons than
// allowances.
func (l Loss) Some() bool { return l.refused >= 10 && 100*l.refused >= l.Of }

// Why names the reasons coarsely, for texts without numbers: "most are late; some are of the
// future". A reason of fewer than one record in a hundred is left out.
func (l Loss) Why() string {
	var parts []string
	for _, r := range l.reasons {
		switch {
		case 2*r.n > l.Of:
			parts = append(parts, "most are "+r.words)
		case r.n > 0 && 100*r.n >= l.Of:
			parts = append(parts, "some are "+r.words)
		}
	}
	return strings.Join(parts, "; ")
}
