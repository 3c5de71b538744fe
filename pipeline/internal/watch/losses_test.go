package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// lossScene plays outcomes against a clock that is set by hand.
type lossScene struct {
	*stallScene
	losses *Losses
}

func newLossScene(t *testing.T, trust string) *lossScene {
	t.Helper()
	s := &lossScene{stallScene: &stallScene{t: t}}
	rules := LossRules{
		Topic: "visits", DeadLetter: "shop-dead-letter", TimeField: "at", TimeUnit: "ms", Start: stallNoon.Add(-time.Hour), Trust: trust,
		Lateness: 2 * time.Minute, Skew: time.Minute, Slack: 5 * time.Second, IdleGrace: time.Minute,
	}
	s.losses = NewLosses(rules, slog.New(slog.NewTextHandler(&s.out, nil)))
	return s
}

// met is how many records meet an outcome in every second.
type met struct {
	n       int
	outcome Outcome
	class   string
	off     time.Duration
	in      int32 // the partition
}

// until lets the clock run, with the same records and a look every second, and returns what was
// said with its times.
func (s *lossScene) until(end time.Duration, every ...met) []string {
	var lines []string
	for ; s.at <= end; s.at += time.Second {
		now := stallNoon.Add(s.at)
		for _, m := range every {
			var f Outcomes
			for range m.n {
				f.Count(m.outcome, m.class, uint64(m.off.Milliseconds()))
			}
			s.losses.Observe(now, m.in, &f)
		}
		s.losses.Check(now)
		for line := range strings.SplitSeq(strings.TrimSpace(s.out.String()), "\n") {
			if line != "" {
				lines = append(lines, fmt.Sprint(s.at, " ", line))
			}
		}
		s.out.Reset()
	}
	return lines
}

// coarse is what may have digits in what is said of records: times, of the rules and of the clock,
// and partitions.
var coarse = regexp.MustCompile(`time=\S+|of partition [\d, ]+|\(-1\)|\d{4}-\d\d-\d\dT[\d:]+Z|\b(\d+[hms])+`)

// says fails the test as that of stallScene does, and where a line has any number of its own: how
// many records there are, or what part of all.
func (s *lossScene) says(lines []string, want ...[]string) {
	s.t.Helper()
	s.stallScene.says(lines, want...)
	for _, line := range lines {
		if text := coarse.ReplaceAllString(line, ""); strings.ContainsAny(text, "0123456789") {
			s.t.Errorf("a number is said: %s", line)
		}
	}
}

func TestRuleLossesAreSaidCoarsely(t *testing.T) {
	good := func(n int) met { return met{n: n} }
	t.Run("late", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		late := met{n: 6, outcome: Late, off: 26 * time.Hour}
		s.says(s.until(40*time.Minute, good(5), late),
			[]string{"0s", "more than half of the records read in the last minute are late, most of these by more than a day: their times are behind their append times", "time.lateness (2m0s)", "events.fields.time (at) or events.time_unit (ms)", "--trusted-report"},
			[]string{"1m0s", "are late"}, []string{"3m0s"}, []string{"7m0s"}, []string{"15m0s"}, []string{"25m0s"}, []string{"35m0s"})
		// Less than a quarter has to be late for that, so that a share around a half tells no more.
		const some = "at least one in a hundred of the records read in the last minute are late"
		s.says(s.until(44*time.Minute, good(6), met{n: 5, outcome: Late}), []string{"40m30s", some}, []string{"41m30s", some}, []string{"43m30s", some})
		s.says(s.until(50*time.Minute, good(10)), []string{"44m28s", "resolved after 44m28s: less than a quarter of the records read in the last minute are late"},
			[]string{"45m0s", "resolved after 4m30s: hardly any of the records read in the last minute are late"})
	})
	t.Run("by the order", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustProducer)
		s.says(s.until(10*time.Second, good(4), met{n: 4, outcome: Disordered, off: 90 * time.Minute}, met{n: 1, outcome: Disordered, off: 30 * 24 * time.Hour}, met{n: 2, outcome: Late}),
			[]string{"0s", "are late, most of these by more than an hour: an earlier record in their partition has a time that is later by more than time.lateness (2m0s)", "not sorted"})
	})
	t.Run("by the order of append times", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Second, met{n: 11, outcome: Disordered}), []string{"0s", "are late: an earlier record in their partition has a time that is later by more than time.slack (5s), as after a broker's clock was set"})
	})
	t.Run("before the start", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Second, met{n: 50, outcome: BeforeStart, off: 55 * 365 * 24 * time.Hour}),
			[]string{"0s", "are before the start of the deployment, most of these by more than a year: tollgate init --start has set it to 2026-03-01T11:00:00Z", "events.time_unit (ms) is wrong"})
	})
	t.Run("of the future", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Second, met{n: 50, outcome: Future, off: 3 * time.Minute}),
			[]string{"0s", "are of the future, most of these by more than a minute: possible causes: a producer's clock is ahead by more than time.skew (1m0s); events.fields.time"})
	})
	t.Run("overtaken", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Second, met{n: 50, outcome: Overtaken}), []string{"0s", "came after their turn was closed: possible causes: a partition was silent for longer than time.idle_grace (1m0s)"})
	})
	t.Run("overtaken, with producers' times", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustProducer)
		s.says(s.until(10*time.Second, met{n: 50, outcome: Overtaken}), []string{"0s", "came after their turn was closed: possible causes: the delay of records grew by more than time.skew (1m0s) + time.idle_grace (1m0s)"})
	})
	t.Run("dead letters", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		bad := met{n: 1, outcome: DeadLettered, class: "missing_field"}
		s.says(s.until(5*time.Minute, good(60), bad),
			[]string{"9s", "some records are dead-lettered: missing_field (topic shop-dead-letter has them, with the reason in the header tollgate-class)"},
			[]string{"1m9s"}, []string{"3m9s"})
		s.says(s.until(10*time.Minute, good(60), met{n: 200, outcome: DeadLettered, class: "undecodable"}),
			[]string{"5m18s", "more than half of the records read in the last minute are dead-lettered: missing_field, undecodable (topic"}, []string{"6m18s"}, []string{"8m18s"})
	})
	t.Run("few among many", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		bad := met{n: 1, outcome: DeadLettered, class: "missing_field"}
		s.says(s.until(10*time.Minute, good(200), bad, met{n: 60, outcome: Late}),
			[]string{"0s", "at least one in a hundred of the records read in the last minute are late"},
			[]string{"9s", "a few records are dead-lettered, fewer than one in a hundred: missing_field (topic shop-dead-letter has them"}, // once
			[]string{"1m0s", "are late"}, []string{"3m0s", "are late"}, []string{"7m0s", "are late"})
		s.says(s.until(2*time.Hour, good(200)), []string{"10m59s", "hardly any of the records read in the last minute are late"}, []string{"1h5m0s", "resolved after 1h4m51s: hardly any record is dead-lettered now"})
	})
	t.Run("some, and then few", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(20*time.Second, good(60), met{n: 1, outcome: DeadLettered, class: "missing_field"}), []string{"9s", "some records are dead-lettered"})
		lines := s.until(40*time.Minute, good(60))
		s.says(lines, []string{"1m9s", "resolved after 1m0s: a few records are dead-lettered now, fewer than one in a hundred"})
	})
	t.Run("of a partition", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustProducer)
		const some = "at least one in a hundred of the latest records of partition 2, 7 came after their turn was closed: possible causes: the delay of records grew"
		s.says(s.until(90*time.Second, good(900), met{n: 9, in: 2}, met{n: 1, in: 2, outcome: Overtaken}, met{n: 1, in: 7, outcome: Overtaken}), []string{"9s", some}, []string{"1m9s", some})
		s.says(s.until(5*time.Minute, good(900), met{n: 10, in: 2}, met{n: 10, in: 7}), []string{"2m25s", "resolved after 2m16s: hardly any of the latest records of a partition came after"})
	})
	t.Run("without a timestamp", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustProducer)
		s.says(s.until(10*time.Second, met{n: 50, outcome: Unstamped}), []string{"0s", "more than half of the records read in the last minute have no timestamp of Kafka (-1): time.trust: producer needs it. Have the producers write it"})
	})
	t.Run("values that cannot be read", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Minute, good(98), met{n: 2, outcome: DeadLettered, class: "bad_value"}),
			[]string{"4s", "some records are dead-lettered: bad_value", "; statistics are only of the values that can be read"}, []string{"1m4s"}, []string{"3m4s"}, []string{"7m4s"})
		if s.losses.BadValues(stallNoon.Add(s.at)) {
			t.Error("2 % are too many")
		}
		s.until(11*time.Minute, good(98), met{n: 4, outcome: DeadLettered, class: "bad_value"}, met{n: 500, outcome: DeadLettered, class: "null_field"})
		if !s.losses.BadValues(stallNoon.Add(s.at)) {
			t.Error("more than 2 % are not too many")
		}
	})
	t.Run("several together", func(t *testing.T) {
		s := newLossScene(t, deployment.TrustBroker)
		s.says(s.until(10*time.Second, good(40), met{n: 24, outcome: Late}, met{n: 34, outcome: DeadLettered, class: "null_field"}, met{n: 2, outcome: Future}),
			[]string{"0s", "at least one in a hundred of the records read in the last minute are late"}, []string{"0s", "some records are dead-lettered: null_field (topic"},
			[]string{"4s", "are of the future"}) // once they are not few
	})
}

// Of few records nothing is said: a line would tell of single ones. Where a minute has few, the
// hour decides.
func TestRuleNothingIsSaidOfFewRecords(t *testing.T) {
	s := newLossScene(t, deployment.TrustBroker)
	bad := met{n: 1, outcome: DeadLettered, class: "missing_field"}
	for range leastRecords - 1 {
		s.says(s.until(s.at, bad))
		s.says(s.until(s.at + 3*time.Minute))
	}
	s.says(s.until(s.at, bad), []string{"27m18s", "more than half of the records read in the last hour are dead-lettered"})
	s.says(s.until(s.at + 3*time.Hour)) // nothing new is read, and nothing proves that it is over

	s = newLossScene(t, deployment.TrustBroker) // few dead letters among many records
	s.says(s.until(0, met{n: 300}, met{n: leastRecords - 1, outcome: DeadLettered, class: "missing_field"}))
	s.says(s.until(time.Second, bad), []string{"1s", "some records are dead-lettered: missing_field"})
}

// What is said does not change with the number of records, nor with their part of all: neither is
// in it, whatever is said.
func TestRuleWhatIsSaidOfLossesHasNoCount(t *testing.T) {
	dead := func(n int) met { return met{n: n, outcome: DeadLettered, class: "null_field"} }
	for name, scene := range map[string]func(times, more int) [2][]met{ // in the first two minutes, and after them
		"more than half": func(times, more int) [2][]met {
			return [2][]met{{{n: 11 * times}, {n: (20 + more) * times, outcome: Late, off: 2 * time.Hour}}, {{n: 11 * times}}}
		},
		"some dead letters": func(times, more int) [2][]met {
			return [2][]met{{{n: 300 * times}, dead((11 + more) * times)}, {{n: 30_000 * times}}}
		},
		"several together": func(times, more int) [2][]met {
			return [2][]met{{{n: 40 * times}, {n: (24 + more) * times, outcome: Late}, dead(34 * times)}, {{n: 40_000 * times}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			said := map[string]bool{}
			for _, times := range []int{1, 7} {
				for _, more := range []int{0, 3, 9} {
					s, records, all := newLossScene(t, deployment.TrustBroker), scene(times, more), ""
					for _, line := range append(s.until(2*time.Minute, records[0]...), s.until(2*time.Minute+time.Second, records[1]...)...) {
						all += regexp.MustCompile(`time=\S+`).ReplaceAllString(line, "") + "\n"
					}
					said[all] = true
				}
			}
			if len(said) != 1 || said[""] {
				t.Errorf("different numbers are told apart, or nothing is said: %v", said)
			}
		})
	}
}

func TestNobodyNeedsLosses(t *testing.T) {
	var none *Losses
	f := Outcomes{}
	f.Count(Late, "", 0)
	none.Observe(stallNoon, 0, &f)
	none.Check(stallNoon)
	var out bytes.Buffer
	NewLosses(LossRules{}, slog.New(slog.NewTextHandler(&out, nil))).Check(stallNoon)
	if out.Len() > 0 {
		t.Errorf("said of no record: %s", &out)
	}
}
