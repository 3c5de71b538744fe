package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

var errKilled = errors.New("killed")

// twoRuns deploys ten turns and ends the first run soon after it has settled turn 5, or
// when it is about to. first is called while SETTLED of turn 1 has just been written; it may be
// nil. It returns the first turn that is open then.
func twoRuns(t testing.TB, killed bool, first func(d *deployment.Deployment)) (d *deployment.Deployment, open uint64) {
	t.Helper()
	d = tenTurns(t, func(c *deployment.Config) {})
	drain := make(chan struct{})
	opts := RunOptions{Bounded: true, Drain: drain}
	if !killed {
		opts.OnSettled = func(s Settlement) {
			if s.Turn == 5 {
				close(drain)
			}
		}
	}
	writing, written := 0, 0 // SETTLED of one turn after the other: no run waits for OnSettled
	hooks := crashpoint.Hooks{At: func(point string, _ int) error {
		switch point {
		case crashpoint.SettledWriting:
			if writing++; writing == 5 && killed {
				return errKilled
			}
		case crashpoint.SettledWritten:
			if written++; written == 1 && first != nil {
				first(d)
			}
		}
		return nil
	}}
	result, err := Run(crashpoint.With(t.Context(), hooks), d, opts)
	if killed != errors.Is(err, errKilled) || err != nil && !killed {
		t.Fatalf("the run ended at turn %d, killed wanted: %t, error: %v", result.Settled, killed, err)
	}
	return d, result.Settled + 1
}

// followed runs a deployment to its end and returns the values from Follow.
func followed(t testing.TB, d *deployment.Deployment) []Published {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var all []Published
	done := make(chan error, 1)
	begin := make(chan Position, 1)
	go func() {
		from := <-begin
		done <- FollowReleases(ctx, d, FollowOptions{From: &from}, func(p Published) error {
			if all = append(all, p); p.Turn == 10 {
				stop()
			}
			return nil
		})
	}()
	_, err := Run(t.Context(), d, RunOptions{Bounded: true, OnStart: func(from Position) { begin <- from }})
	must.Succeed(t, err)
	must.Succeed(t, <-done)
	return all
}

func checkTurns(t *testing.T, all []Published, first uint64) {
	t.Helper()
	for i, p := range all {
		if p.Turn != first+uint64(i) || len(p.Releases) != 3 {
			t.Errorf("turn %d came at index %d with %d values", p.Turn, i, len(p.Releases))
		}
	}
	if n := 10 - int(first) + 1; len(all) != n {
		t.Errorf("%d turns were followed, want %d", len(all), n)
	}
}

// deleteCounts deletes every record on counts.
func deleteCounts(t testing.TB, d *deployment.Deployment) {
	t.Helper()
	for shard := range d.Config.ReleaseShards {
		deleteCountsOf(t, d, shard)
	}
}

func deleteCountsOf(t testing.TB, d *deployment.Deployment, shard int) {
	t.Helper()
	deploytest.DeleteRecords(t, d.Config.Kafka.Brokers[0], d.Config.Outputs.Counts, int32(shard), -1)
}

// Values of settled turns are not read again, and may be gone.
func TestFollowingBeginsAfterTheSettledTurn(t *testing.T) {
	t.Parallel()
	d, open := twoRuns(t, false, nil)
	deleteCounts(t, d)
	checkTurns(t, followed(t, d), open)

	deleteCounts(t, d) // nothing is missing if nothing is open, either
	if _, err := Run(t.Context(), d, RunOptions{Bounded: true}); err != nil {
		t.Error(err)
	}
	all, err := ReadReleases(t.Context(), d)
	if err != nil || len(all) != 0 {
		t.Errorf("%d values are left (%v)", len(all), err)
	}
}

func TestFollowingHandsOutWhatWasNotSettledOnce(t *testing.T) {
	t.Parallel()
	d, _ := twoRuns(t, true, nil)
	all, err := ReadReleases(t.Context(), d)
	if err != nil || len(all) != 15 {
		t.Fatalf("%d values were published by turn 5 (%v)", len(all), err)
	}
	checkTurns(t, followed(t, d), 5)
}

// Without the published values of an interrupted turn, the redrawn ones cannot be compared with
// them: no run continues, whichever partition has lost its values.
func TestRuleMissingValuesOfAnOpenTurnStopTheRun(t *testing.T) {
	t.Parallel()
	d, _ := twoRuns(t, true, nil)
	last := -1 // the last partition that has some
	for shard := range d.Config.ReleaseShards {
		eachRecord(t, d, d.Config.Outputs.Counts, int32(shard), func(r kafkalog.Record) {
			if v, err := schemas.DecodeRelease(r.Value); err == nil && v.Turn == 5 {
				last = shard
			}
		})
	}
	deleteCountsOf(t, d, last)
	for range 2 {
		_, err := Run(t.Context(), d, RunOptions{Bounded: true})
		want := "but turn 5, which is not settled, published from offset "
		if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "topic tollgate-counts: partition ") {
			t.Fatalf("%v\ndoes not say\n%s", err, want)
		}
	}
}

// Values of an open turn can be lost with an unclean election or a restored copy, and published
// again at other offsets: the values at the old offsets are not returned.
func TestFollowingForgetsValuesOfAnOpenTurn(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	w := writerTo(t, d)
	w.counts(0, 5, "a")
	w.counts(0, 6, "lost", "x", "y")
	w.end(5, d.Config.Outputs.Counts, 1, 0)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var got []string
	err := FollowReleases(ctx, d, FollowOptions{From: &Position{Turn: 4, Counts: []int64{0, 0}}},
		func(p Published) error {
			for _, r := range p.Releases {
				got = append(got, fmt.Sprint(p.Turn, r.Key))
			}
			if p.Turn == 6 {
				stop()
				return nil
			}
			remakeCounts(t, d)
			w.counts(0, 5, "a")
			w.counts(0, 6, "x", "y", "z")
			w.end(6, d.Config.Outputs.Counts, 4, 0)
			return nil
		})
	if want := []string{"5a", "6x", "6y", "6z"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// A value twice, foreign records on both topics, an end beyond what counts has, a missing end, a
// repeated one and one of another topic's values.
func TestFollowerPutsTurnsTogether(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	w := writerTo(t, d)
	w.counts(0, 4, "b")
	w.counts(0, 5, "a", "a")
	w.counts(0, 6, "x")
	w.counts(0, 8, "y", "open")
	w.counts(1, 5, "c")
	w.write(d.Config.Outputs.Counts, 1, kafkalog.Message{Key: []byte("z"), Value: []byte("garbage")})
	w.counts(1, 7, "d")
	topic := d.Config.Outputs.Counts
	w.end(4, topic, 1, 0)
	w.end(5, topic, 3, 1)
	w.write(d.Config.Outputs.Turns, 0, kafkalog.Message{Value: []byte("garbage")})
	w.end(6, "elsewhere", 100, 100)
	w.end(5, topic, 3, 1)
	w.end(7, topic, 4, 3)     // the end of turn 6 is missing
	w.end(8, topic, 5, 1<<40) // foreign: counts are shorter
	w.end(8, topic, 5, 3)
	w.end(9, topic, 5, 3)
	var got []string
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := FollowReleases(ctx, d, FollowOptions{From: &Position{Turn: 4, Counts: []int64{1, 0}}},
		func(p Published) error {
			line := fmt.Sprint(p.Turn, ":")
			for _, r := range p.Releases {
				line += fmt.Sprint(" ", r.Turn, r.Key)
			}
			if got = append(got, line); p.Turn == 9 {
				stop()
			}
			return nil
		})
	if want := "5: 5a 5c|7: 7d 6x|8: 8y|9:"; err != nil || strings.Join(got, "|") != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// topicWriter appends to any topic of a deployment's broker.
type topicWriter struct {
	t      *testing.T
	d      *deployment.Deployment
	client *kafkalog.Client
}

func writerTo(t *testing.T, d *deployment.Deployment) topicWriter {
	t.Helper()
	return topicWriter{t, d, dial(t, d)}
}

func (w topicWriter) write(topic string, partition int32, m kafkalog.Message) {
	w.t.Helper()
	appendTo(w.t, w.client, topic, partition, m)
}

// counts writes values of a turn.
func (w topicWriter) counts(partition int32, turn uint64, keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		r := schemas.Release{Metric: "views", Key: key, Turn: turn, WindowEnd: 1000, Confidence: 0.95, Rungs: 1}
		r.Precision.Hi = 1
		data := must.Have(schemas.EncodeRelease(schemas.CountsEncoding{Format: schemas.CountsJSON}, r))
		w.write(w.d.Config.Outputs.Counts, partition, kafkalog.Message{Key: []byte(key), Value: data,
			Headers: []kafkalog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeRelease)}}})
	}
}

func (w topicWriter) end(turn uint64, topic string, offsets ...int64) {
	w.t.Helper()
	data := must.Have(schemas.EncodeTurnEnd(schemas.TurnEnd{Turn: turn, Generation: 1, Counts: topic,
		CountsEnd: offsets}))
	w.write(w.d.Config.Outputs.Turns, 0, kafkalog.Message{Key: schemas.TurnEndKey(), Value: data})
}

// A current reader has every settled turn, and is still notified that the topic responds.
func TestFollowingSaysWhenItIsCurrent(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	ran(t, d)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	turns, current, end := uint64(0), 0, time.Time{}
	err := FollowReleases(ctx, d, FollowOptions{From: &Position{}, OnResponse: func(now bool) {
		if now && turns < 10 {
			t.Errorf("current after turn %d of 10", turns)
		}
		if now {
			current++
		}
		if current == 3 {
			stop()
		}
	}}, func(p Published) error {
		turns, end = p.Turn, p.End
		return nil
	})
	if err != nil || current < 3 || turns != 10 {
		t.Errorf("%d turns, current %d times (%v)", turns, current, err)
	}
	if want := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC); !end.Equal(want) {
		t.Errorf("the last turn ends at %v, want %v", end, want)
	}
}

// Old turns are handed out together, up to a number of values, in the same order.
func TestOldTurnsCanComeTogether(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	ran(t, d)
	read := func(together int) (turns []uint64, values []schemas.Release) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err := FollowReleases(ctx, d, FollowOptions{From: &Position{}, Together: together}, func(p Published) error {
			turns, values = append(turns, p.Turn), append(values, p.Releases...)
			if p.Turn == 10 {
				stop()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return turns, values
	}
	_, want := read(0)
	// a turn has three values
	for together, bounds := range map[int][2]int{0: {10, 10}, 1: {10, 10}, 12: {2, 5}, 1000: {1, 1}} {
		turns, values := read(together)
		if !slices.IsSorted(turns) || turns[len(turns)-1] != 10 || len(turns) < bounds[0] || len(turns) > bounds[1] {
			t.Errorf("up to %d offsets together: turns %d", together, turns)
		}
		if !slices.Equal(values, want) {
			t.Errorf("up to %d offsets together: other values", together)
		}
	}
}
