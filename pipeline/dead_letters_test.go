package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A replay writes the records that can be read and are not late, as they were, each once.
func TestRuleADeadLetterIsReplayedOnce(t *testing.T) {
	t.Parallel()
	e := startElections(t)
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	d := deploy(t, deploytest.Config(e.ListenAddrs()[0]), start, 2)
	client := dial(t, d)
	newest := kafkalog.Message{Key: []byte("key"), Timestamp: kafkalog.At(start.Add(90 * time.Minute).UnixMilli())}
	appendTo(t, client, "events", 0, newest)
	appendTo(t, client, "events", 1, append([]kafkalog.Message{newest}, eventsAt(start.Add(time.Hour), 60)...)...)
	must.Have(Run(t.Context(), d, RunOptions{Until: start.Add(3 * time.Minute)})) // CLOSE has the time of newest

	letter := func(offset int64, written time.Time, value []byte, more ...schemas.RecordHeader) kafkalog.Message {
		if value == nil {
			value = eventOf(fmt.Sprint("u", offset), written).Value
		}
		origin := schemas.Origin{Topic: "events", Partition: 1, Offset: offset, Timestamp: written.UnixMilli()}
		m := schemas.DeadLetter(origin, "wrong_type", fmt.Appendf(nil, "key %d", offset), value, more, 4096)
		out := kafkalog.Message{Key: m.Key, Value: m.Value, Timestamp: kafkalog.Now()}
		for _, h := range m.Headers {
			out.Headers = append(out.Headers, kafkalog.Header{Key: h.Key, Value: h.Value})
		}
		return out
	}
	later := start.Add(91 * time.Minute)
	trace := schemas.RecordHeader{Key: "trace", Value: []byte("7")}
	twice := letter(3, later, nil, trace, schemas.RecordHeader{Key: schemas.DeadLetterReplayed, Value: []byte("1/2")})
	appendTo(t, client, d.Config.Outputs.DeadLetter, 0, twice, letter(4, start.Add(75*time.Minute), nil),
		letter(5, later, []byte("{")), letter(6, later, bytes.Repeat([]byte("1"), 9999)), twice,
		letter(7, start.Add(-time.Hour), nil), letter(8, later, nil),
		kafkalog.Message{Value: []byte("of another program"), Timestamp: kafkalog.Now()})

	want := DeadLetterReplay{Chosen: 7, Again: 1, Cut: 1, Broken: 1, Late: 1, Outside: 1, Counting: 2}
	for _, write := range []bool{false, true} {
		if write {
			want.Written = 2
		}
		got := must.Have(ReplayDeadLetters(t.Context(), d, DeadLetterChoice{}, write))
		if got != want {
			t.Errorf("write %v: %+v, want %+v", write, got, want)
		}
	}
	replayed := map[string]string{}
	eachRecord(t, d, "events", 1, func(r kafkalog.Record) {
		if n := len(r.Headers); n > 0 {
			replayed[string(r.Headers[n-1].Value)] = fmt.Sprint(r.Headers[n-1].Key, n, string(r.Key), string(r.Value),
				r.Timestamp)
		}
	})
	for offset, headers := range map[int64]int{3: 2, 8: 1} {
		value := eventOf(fmt.Sprint("u", offset), later).Value
		if got := replayed[fmt.Sprint("1/", offset)]; got != fmt.Sprint("tollgate-replayed", headers, "key ", offset,
			string(value), later.UnixMilli()) {
			t.Errorf("record %d was replayed as %q", offset, got)
		}
	}
	again := must.Have(ReplayDeadLetters(t.Context(), d, DeadLetterChoice{}, true))
	if again.Written != 0 || again.Again != 3 || len(replayed) != 2 {
		t.Errorf("again: %+v, %d replayed", again, len(replayed))
	}
	none := must.Have(ReplayDeadLetters(t.Context(), d, DeadLetterChoice{Classes: []string{"packed"}}, true))
	if none != (DeadLetterReplay{}) {
		t.Errorf("of a class without dead letters: %+v", none)
	}
	gone := *d
	gone.Config.Outputs.DeadLetter = "gone"
	_, err := ReplayDeadLetters(t.Context(), &gone, DeadLetterChoice{}, false)
	if !errors.Is(err, ErrTopicSettings) || !strings.Contains(err.Error(), "gone does not exist: recreate it: ") {
		t.Errorf("without the topic: %v", err)
	}
}
