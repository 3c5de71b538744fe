package watch

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// stallScene plays what READ knows against a clock that is set by hand.
type stallScene struct {
	t      *testing.T
	stalls *Stalls
	out    bytes.Buffer
	after  time.Duration // since noon
	p      *Progress
	down   []kafkalog.Trouble
	away   []kafkalog.Away
}

var stallNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newStallScene(t *testing.T, change func(*Rules)) *stallScene {
	t.Helper()
	rules := Rules{topic: "visits", lateness: 10 * time.Second, slack: 5 * time.Second, skew: time.Minute,
		grace: 2 * time.Minute, idle: true}
	if change != nil {
		change(&rules)
	}
	s := &stallScene{t: t}
	s.stalls = New(rules, slog.New(slog.NewTextHandler(&s.out, &slog.HandlerOptions{Level: slog.LevelWarn})))
	return s
}

// until runs the clock to end, with a check every second and READ's scripted progress, and returns
// the logged lines with their times.
func (s *stallScene) until(end time.Duration) []string {
	var lines []string
	for ; s.after <= end; s.after += time.Second {
		now := stallNoon.Add(s.after)
		if s.p != nil {
			s.stalls.Observe(now, *s.p)
		}
		s.stalls.update(now, s.down, s.away)
		for line := range strings.SplitSeq(strings.TrimSpace(s.out.String()), "\n") {
			if line != "" {
				lines = append(lines, fmt.Sprint(s.after, " ", line))
			}
		}
		s.out.Reset()
	}
	return lines
}

// says fails the test unless the lines have this number, these times and these words.
func (s *stallScene) says(lines []string, want ...[]string) {
	s.t.Helper()
	if len(lines) != len(want) {
		s.t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for i, words := range want {
		for n, word := range words {
			if n == 0 && !strings.HasPrefix(lines[i], word+" ") || !strings.Contains(lines[i], word) {
				s.t.Errorf("line %d does not say %q:\n%s", i, word, lines[i])
			}
		}
		if _, text, _ := strings.Cut(lines[i], " level="); strings.Contains(text, "777") { // not in the time
			s.t.Errorf("an offset is told: %s", lines[i])
		}
	}
}

func windowEnd(after time.Duration) int64 { return stallNoon.Add(after).UnixMilli() }

// stuck is a partition that ends in an open transaction, quiet one that was read to its end.
func stuck(id int32) Partition {
	return Partition{ID: id, Next: 7770, LastStable: 7770, High: 7779, HeldBack: true}
}

func quiet1(id int32) Partition {
	return Partition{ID: id, Next: 7771, LastStable: 7771, High: 7771, HeldBack: true}
}

func TestRuleStallsAreToldWithTheirCause(t *testing.T) {
	t.Run("an open transaction", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(0),
			Partitions: []Partition{stuck(3), {ID: 4, Next: 7775, LastStable: 7780, High: 7790, HeldBack: true}}}
		// The window is due at 15 s; intervals of 1, 2, 4, 8 and 10 minutes.
		s.says(s.until(40*time.Minute),
			[]string{"45s",
				"no progress for 30s: partition 3 of topic visits is blocked by an open transaction, so the windows " +
					"that ended at 2026-03-01T12:00:00Z wait", "kafka-transactions.sh"},
			[]string{"1m45s", "no progress for 1m30s: partition 3"}, []string{"3m45s"}, []string{"7m45s"},
			[]string{"15m45s"}, []string{"25m45s"}, []string{"35m45s"})
		s.p = &Progress{End: windowEnd(time.Minute),
			Partitions: []Partition{{ID: 3, Next: 7779, LastStable: 7779, High: 7779}}}
		s.says(s.until(41*time.Minute),
			[]string{"40m1s", "an open transaction no longer blocks turns, after 39m46s"})
	})
	t.Run("transactions one after the other", func(t *testing.T) {
		s := newStallScene(t, nil)
		for i := range int64(20) {
			s.p = &Progress{End: windowEnd(0),
				Partitions: []Partition{{ID: 0, Next: 100 + i, LastStable: 100 + i, High: 1000, HeldBack: true}}}
			s.says(s.until(time.Duration(i+1) * 25 * time.Second))
		}
	})
	t.Run("a silent partition", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(0),
			Partitions: []Partition{quiet1(0), quiet1(7), {ID: 5, Next: 7772, LastStable: 7772, High: 7772}}}
		s.says(s.until(time.Minute),
			[]string{"45s",
				"partition 0 of topic visits is silent, so the windows that ended at 2026-03-01T12:00:00Z wait " +
					"until 2026-03-01T12:03:10Z"})
		s.p.Partitions[0].HeldBack = false // it has a record
		s.says(s.until(2*time.Minute), []string{"1m45s", "partition 7 of topic visits is silent"})
		s.p.Partitions[1].HeldBack = false
		s.says(s.until(3*time.Minute), []string{"2m1s", "a silent partition no longer delays turns"})
	})
	t.Run("a silence that began late", func(t *testing.T) { // with producers' times that are behind the clock
		s := newStallScene(t, nil)
		silent := quiet1(0)
		silent.SilentFrom = windowEnd(5 * time.Minute)
		s.p = &Progress{End: windowEnd(0), Partitions: []Partition{silent}}
		s.says(s.until(time.Minute),
			[]string{"45s", "wait until 2026-03-01T12:07:00Z"})
	})
	t.Run("silent for ever", func(t *testing.T) {
		s := newStallScene(t, func(r *Rules) { r.idle = false })
		s.p = &Progress{End: windowEnd(0), Partitions: []Partition{quiet1(2)}}
		s.says(s.until(time.Minute),
			[]string{"45s", "partition 2 of topic visits is silent", "wait until it has records again"})
	})
	t.Run("a window that fills up", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(time.Hour), Partitions: []Partition{quiet1(0), stuck(1)}}
		s.says(s.until(time.Hour + 44*time.Second))
		s.says(s.until(time.Hour+45*time.Second), []string{"1h0m45s", "partition 0"},
			[]string{"1h0m45s", "partition 1"})
	})
	t.Run("no turn is waited for", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: calendar.Forever, Partitions: []Partition{quiet1(0), stuck(1)}}
		s.says(s.until(time.Hour))
	})
	t.Run("a leader that has died, and a new one that cannot lead", func(t *testing.T) {
		s := newStallScene(t, nil)
		few := errors.New("fewer replicas are in sync")
		s.down = []kafkalog.Trouble{
			{Doing: "appending", Since: stallNoon, Cause: errors.New("nothing listens there")},
			{Doing: "asking", Since: stallNoon.Add(time.Second), Cause: few}, {Doing: "another", Cause: few}}
		s.says(s.until(time.Minute),
			[]string{"30s", "appending: nothing listens there; asking: fewer replicas are in sync\""})
	})
	t.Run("no broker", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(0), Partitions: []Partition{quiet1(0)}}
		s.says(s.until(20 * time.Second))
		s.down = []kafkalog.Trouble{
			{Doing: `reading topic "visits" partition 0`, Since: stallNoon.Add(20 * time.Second),
				Cause: errors.New("nothing listens there")}, {Since: stallNoon.Add(30 * time.Second)}}
		s.p = nil // READ waits
		s.says(s.until(2*time.Minute),
			[]string{"50s",
				`no progress for 30s: Kafka has not answered properly since 2026-03-01T12:00:20Z: ` +
					`reading topic \"visits\" partition 0: nothing listens there`},
			[]string{"1m50s", "no progress for 1m30s"})
		s.down = nil
		s.says(s.until(3*time.Minute), []string{"2m1s", "Kafka answers properly again, after 1m41s"})
		s.down = []kafkalog.Trouble{{Since: stallNoon.Add(3 * time.Minute), Cause: errors.New("again")}}
		s.says(s.until(4*time.Minute), []string{"3m30s", "again"})
	})
	t.Run("a broker that is away", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(time.Hour)}
		away := func(since time.Duration) []kafkalog.Away {
			return []kafkalog.Away{{Broker: "b:9092", Since: stallNoon.Add(since),
				TriedAt: stallNoon.Add(since).Add(time.Hour), Why: "nothing listens there"}}
		}
		s.away = away(0)
		s.says(s.until(10*time.Minute),
			[]string{"2s", "broker b:9092 unreachable since 2026-03-01T12:00:00Z: nothing listens there"},
			[]string{"1m2s", "since 2026-03-01T12:00:00Z"}, []string{"3m2s"}, []string{"7m2s"})
		s.away = nil
		s.says(s.until(11*time.Minute), []string{"10m1s", "broker b:9092 answers again after 10m1s"})
		s.away = away(11 * time.Minute) // its restart: nothing has to wait
		s.says(s.until(11*time.Minute + time.Second))
		s.away = nil
		s.says(s.until(12 * time.Minute))
		s.away = away(12 * time.Minute)
		s.away[0].TriedAt = stallNoon.Add(12*time.Minute + 10*time.Second) // then other brokers replace it
		s.says(s.until(20*time.Minute), []string{"12m2s", "unreachable"})
	})
	t.Run("the only broker is away", func(t *testing.T) { // a stall of everything is logged once
		s := newStallScene(t, nil)
		s.away = []kafkalog.Away{{Broker: "b:9092", Since: stallNoon, TriedAt: stallNoon.Add(time.Hour),
			Why: "nothing listens there"}}
		s.down = []kafkalog.Trouble{
			{Doing: "reading", Since: stallNoon, Cause: errors.New("broker b:9092: nothing listens there")}}
		s.says(s.until(4*time.Minute), []string{"2s", "broker b:9092 unreachable"},
			[]string{"30s", "no progress for 30s", "broker b:9092"}, []string{"1m30s", "no progress"},
			[]string{"3m30s", "no progress"})
	})
	t.Run("a short failure", func(t *testing.T) {
		s := newStallScene(t, nil)
		for i := range 10 {
			s.down = []kafkalog.Trouble{{Since: stallNoon.Add(s.after), Cause: errors.New("moved")}}
			s.says(s.until(time.Duration(i+1) * 25 * time.Second))
			s.down = nil
			s.says(s.until(s.after + time.Second))
		}
	})
	t.Run("a turn that does not settle", func(t *testing.T) {
		s := newStallScene(t, func(r *Rules) { r.publishEvery = time.Minute })
		s.p = &Progress{End: windowEnd(0), Open: 17, OpenedAt: stallNoon}
		s.says(s.until(2*time.Minute),
			[]string{"1m30s", "no progress for 1m30s: turn 17 was opened at 2026-03-01T12:00:00Z and is not settled"})
		s.p = &Progress{End: windowEnd(time.Hour)}
		s.says(s.until(3*time.Minute), []string{"2m1s", "the run is working on its turns again, after 2m1s"})
	})
	t.Run("a large turn", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(0), Open: 17, OpenedAt: stallNoon}
		for s.after < time.Minute {
			s.stalls.ObserveWork(stallNoon.Add(s.after))
			s.says(s.until(s.after + 20*time.Second))
		}
		s.says(s.until(2*time.Minute), []string{"1m12s", "no progress for 1m12s: turn 17"})
	})
	t.Run("READ waits for something else", func(t *testing.T) {
		s := newStallScene(t, nil)
		s.p = &Progress{End: windowEnd(0), Partitions: []Partition{quiet1(0)}, Open: 3,
			OpenedAt: stallNoon.Add(30 * time.Second)}
		s.says(s.until(40 * time.Second))
		s.p = nil
		s.says(s.until(119*time.Second), []string{"1m0s", "turn 3"})
	})
}
