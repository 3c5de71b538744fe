package watch

import (
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

func newLossScene(t *testing.T) *lossScene {
	t.Helper()
	s := &lossScene{stallScene: &stallScene{t: t}}
	s.losses = NewLosses(&deployment.Deployment{}, slog.New(slog.NewTextHandler(&s.out, nil)))
	return s
}

// met is how many records meet an outcome in every second.
type met struct {
	n       int
	outcome Outcome
}

// until runs the clock to end, with the same records and a check every second, and returns the
// logged lines with their times.
func (s *lossScene) until(end time.Duration, every ...met) []string {
	var lines []string
	for ; s.after <= end; s.after += time.Second {
		now := stallNoon.Add(s.after)
		for _, m := range every {
			var f Outcomes
			for range m.n {
				f.Count(m.outcome, "bad_value")
			}
			s.losses.Observe(now, &f)
		}
		s.losses.Check(now)
		for line := range strings.SplitSeq(strings.TrimSpace(s.out.String()), "\n") {
			if line != "" {
				lines = append(lines, fmt.Sprint(s.after, " ", line))
			}
		}
		s.out.Reset()
	}
	return lines
}

// coarse matches the parts of a line that may have digits: times, of the rules and of the clock.
var coarse = regexp.MustCompile(`time=\S+|\b(\d+[hms])+`)

// says is stallScene.says, and fails if a line has any other number: of records, or their share.
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
	t.Run("again and again", func(t *testing.T) {
		s := newLossScene(t)
		s.says(s.until(16*time.Minute, met{n: 5}, met{6, Late}),
			[]string{"0s", "more than half of the records are lost: they are older than time.lateness", "reason=late"},
			[]string{"1m0s", "reason=late"}, []string{"3m0s"}, []string{"7m0s"}, []string{"15m0s"})
		s.says(s.until(30*time.Minute, met{n: 6}, met{5, Late}), []string{"25m0s"})
		s.says(s.until(3*time.Hour, met{n: 300}), []string{"35m0s"}, []string{"45m0s"}, []string{"55m0s"},
			[]string{"1h15m0s", "resolved after 1h15m0s: hardly any record is lost", "reason=late"})
	})
	t.Run("several together", func(t *testing.T) {
		s := newLossScene(t)
		s.says(s.until(10*time.Second, met{n: 40}, met{24, Late}, met{34, DeadLettered}, met{2, Future}),
			[]string{"0s", "at least one in a hundred of the records", "reason=late"},
			[]string{"0s", "reason=dead_lettered"},
			[]string{"4s", "reason=future"}) // once they are not few
	})
	t.Run("too many bad values", func(t *testing.T) {
		s := newLossScene(t)
		s.until(10*time.Minute, met{n: 98}, met{2, DeadLettered})
		if s.losses.BadValues(stallNoon.Add(s.after)) {
			t.Error("2% are too many")
		}
		s.until(11*time.Minute, met{n: 98}, met{9, DeadLettered})
		if !s.losses.BadValues(stallNoon.Add(s.after)) {
			t.Error("more than 2% are not too many")
		}
	})
}

// Losses of few records are not logged: a line would describe single ones. If a minute has few, the
// hour decides.
func TestRuleNothingIsSaidOfFewRecords(t *testing.T) {
	s := newLossScene(t)
	bad := met{1, DeadLettered}
	for range minRecords - 1 {
		s.says(s.until(s.after, bad))
		s.says(s.until(s.after + 3*time.Minute))
	}
	s.says(s.until(s.after, bad), []string{"27m18s", "more than half of the records are lost", "reason=dead_lettered"})
	s.says(s.until(s.after + 3*time.Hour)) // nothing new is read, and nothing proves that it is over

	s = newLossScene(t) // few dead letters among many records
	s.says(s.until(0, met{n: 300}, met{minRecords - 1, DeadLettered}))
	s.says(s.until(time.Second, bad), []string{"1s", "at least one in a hundred"})
}

// The logged text does not change with the number of records, nor with their share: neither is in
// it.
func TestRuleWhatIsSaidOfLossesHasNoCount(t *testing.T) {
	logs := map[string]bool{}
	for _, times := range []int{1, 7} {
		for _, more := range []int{0, 3, 9} {
			s, all := newLossScene(t), ""
			for _, line := range s.until(2*time.Minute, met{n: 40 * times}, met{(24 + more) * times, Late},
				met{34 * times, DeadLettered}) {
				all += regexp.MustCompile(`time=\S+`).ReplaceAllString(line, "") + "\n"
			}
			logs[all] = true
		}
	}
	if len(logs) != 1 || logs[""] {
		t.Errorf("different numbers are told apart, or nothing is said: %v", logs)
	}
}

func TestNobodyNeedsLosses(t *testing.T) {
	var none *Losses
	f := Outcomes{}
	f.Count(Late, "")
	none.Observe(stallNoon, &f)
	none.Check(stallNoon)
}
