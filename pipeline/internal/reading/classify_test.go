package reading

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

func testFates(t *testing.T, c timeRules) *classifier {
	t.Helper()
	decoder := must.Have(event.NewDecoder(event.Format{Format: "jsonl", User: "user", Key: "key", Time: "time",
		TimeUnit: "ms"}))
	h := &schemas.Header{StartMillis: 1000, FromTurn: 1, SliceStart: 1000,
		Metrics: []schemas.MetricSpec{{WindowSize: 1000, WindowSlide: 1000}}}
	return &classifier{decoder: decoder, rules: c, turns: calendar.New(h, 0)}
}

// Records that are not events by design are not dead letters: a tombstone, a delete of a
// change-data topic, and a record that lacks a field if every metric has a filter and none lets it
// through.
func TestDeletesAndUnaskedRecordsAreSkipped(t *testing.T) {
	fields := func(s string) string {
		return `{"type":"record","name":"R","fields":[` + s +
			`{"name":"after","type":["null",{"type":"record","name":"A","fields":[` +
			`{"name":"who","type":["null","string"]}]}]},{"name":"at","type":["null","long"]}]}`
	}
	jsonl := event.Format{Format: event.JSONL, User: "after.who", Time: "at", TimeUnit: "ms"}
	avro := event.Format{Format: event.Avro, User: "after.who", Time: "at", TimeUnit: "ms",
		Schema: fields(`{"name":"op","type":"string"},`)}
	filtered := func(f event.Format) event.Format { f.Filters = []string{`op == "c"`}; return f }
	for name, c := range map[string]struct {
		format event.Format
		value  []byte
		want   watch.Outcome
	}{
		"tombstone":            {jsonl, nil, watch.Skipped},
		"empty value":          {jsonl, []byte{}, watch.DeadLettered},
		"delete":               {jsonl, []byte(`{"op":"d","after":null,"at":1}`), watch.Skipped},
		"create":               {jsonl, []byte(`{"op":"c","after":{"who":"u"},"at":2000}`), watch.Accepted},
		"null in the row":      {jsonl, []byte(`{"op":"c","after":{"who":null},"at":1}`), watch.DeadLettered},
		"no filter asks":       {filtered(jsonl), []byte(`{"op":"x","after":{"who":null},"at":1}`), watch.Skipped},
		"a filter asks":        {filtered(jsonl), []byte(`{"op":"c","after":{"who":null},"at":1}`), watch.DeadLettered},
		"not readable":         {filtered(jsonl), []byte(`{"op":"x",`), watch.DeadLettered},
		"Avro: tombstone":      {avro, nil, watch.Skipped},
		"Avro: delete":         {avro, []byte("\x02d\x00\x02\x02"), watch.Skipped},
		"Avro: null field":     {avro, []byte("\x02d\x02\x00\x02\x02"), watch.DeadLettered},
		"Avro: no filter asks": {filtered(avro), []byte("\x02d\x02\x00\x02\x02"), watch.Skipped},
	} {
		decoder := must.Have(event.NewDecoder(c.format))
		f := testFates(t, timeRules{acceptFuture: true, lateness: 1 << 40, slack: 1 << 40})
		f.decoder, f.filtered = decoder, len(c.format.Filters) > 0
		f.event.Passes = 0 // as the record before may have left it
		v, err := f.classify(newPartition(), &kafkalog.Record{Timestamp: 2000, Value: c.value}, 2000)
		if err != nil || v.Outcome != c.want {
			t.Errorf("%s: %d (%v), want %d", name, v.Outcome, err, c.want)
		}
	}
}

func newPartition() *partition {
	return &partition{appendTime: calendar.Never, idleUntil: calendar.Never, end: calendar.Forever,
		replayed: map[int64]bool{}}
}

func judgeOne(t *testing.T, f *classifier, p *partition, offset, stamp, event, now int64) string {
	t.Helper()
	rec := kafkalog.Record{Offset: offset, Timestamp: stamp,
		Value: fmt.Appendf(nil, `{"user":"u","key":"k","time":%d}`, event)}
	v := must.Have(f.classify(p, &rec, now))
	switch v.Outcome {
	case watch.DeadLettered:
		return v.class
	case watch.BeforeStart:
		return "before start"
	case watch.Late:
		return "late"
	case watch.Future:
		return "future"
	case watch.Unstamped:
		return "unstamped"
	}
	return fmt.Sprint("turn ", v.turn)
}

// A record below the cuts of an earlier generation is classified by that generation's clock, even
// if it is read again; the first one at the cut is not.
func TestARecordIsJudgedByTheClockThatReadItFirst(t *testing.T) {
	f := testFates(t, timeRules{lateness: 100, slack: 500})
	f.past = []pastTimeRules{{timeRules{lateness: 1000, slack: 500}, map[int32]int64{0: 2}},
		{timeRules{lateness: 300, slack: 500}, map[int32]int64{0: 4}}}
	for offset, on := range []int64{1000, 1000, 300, 300, 100, 100} {
		p := newPartition()
		if got := judgeOne(t, f, p, int64(offset), 5000, 5000-on, 0); got == "late" {
			t.Errorf("the record at offset %d is late by less than %d ms", offset, on)
		}
		if got := judgeOne(t, f, p, int64(offset), 5000, 4999-on, 0); got != "late" {
			t.Errorf("the record at offset %d is not late by more than %d ms: %s", offset, on, got)
		}
	}
}

// TestRuleLatenessIsAPropertyOfOneRecord: below the slack, another record's effect on the
// partition's append time decides nothing.
func TestRuleLatenessIsAPropertyOfOneRecord(t *testing.T) {
	f := testFates(t, timeRules{lateness: 100, skew: 50, slack: 500})
	for _, jump := range []int64{0, 1, 499, 500} {
		p := newPartition()
		judgeOne(t, f, p, 0, 5000+jump, 5000, 0) // another user's record, with a leader whose clock is ahead
		if got := judgeOne(t, f, p, 1, 5000, 4900, 0); got != "turn 4" {
			t.Errorf("a step of %d ms made an event late that its own times put on time: %s", jump, got)
		}
	}
	p := newPartition()
	judgeOne(t, f, p, 0, 5501, 5000, 0)
	if got := judgeOne(t, f, p, 1, 5000, 4900, 0); got != "late" {
		t.Errorf("beyond the slack the watermark decides: got %s", got)
	}
}

// TestRuleFatesFromTheRecordsOwnTimes: the borders of every time rule.
func TestRuleFatesFromTheRecordsOwnTimes(t *testing.T) {
	f := testFates(t, timeRules{lateness: 100, skew: 50, slack: 500})
	for _, test := range []struct {
		stamp, event int64
		want         string
	}{
		{1000, 999, "before start"}, {1000, 1000, "turn 1"}, {1100, 1000, "turn 1"}, {1101, 1000, "late"},
		{1999, 1999, "turn 1"}, {2000, 2000, "turn 2"}, {2000, 2050, "turn 2"}, {2000, 2051, "future"},
		{-1, 2000, "unstamped"},
	} {
		for _, now := range []int64{0, test.stamp, 5e12} { // this machine's clock decides nothing
			if got := judgeOne(t, f, newPartition(), 0, test.stamp, test.event, now); got != test.want {
				t.Errorf("appended at %d, event of %d, judged at %d: %s, want %s", test.stamp, test.event, now, got,
					test.want)
			}
		}
	}
}

// TestRuleAStampFromTheFutureClosesNothing: with producer times a stamp beyond
// this machine's clock and skew is of the future and does not move the
// watermark; read again later, it keeps its verdict.
func TestRuleAStampFromTheFutureClosesNothing(t *testing.T) {
	f := testFates(t, timeRules{trustProducer: true, lateness: 100, skew: 50})
	p := newPartition()
	judgeOne(t, f, p, 0, 5000, 5000, 6000)
	if got := judgeOne(t, f, p, 1, 4102444800000, 4102444800000, 6000); got != "future" {
		t.Errorf("a stamp of the year 2100: %s", got)
	}
	if p.appendTime != 5000 {
		t.Errorf("it moved the append time to %d", p.appendTime)
	}
	p.next = 2
	cut := p.cut(nil)
	if len(cut.Ahead) != 1 || cut.Ahead[0] != 1 {
		t.Fatalf("its CLOSE does not keep the verdict: %+v", cut)
	}
	again := newPartition()
	again.restore(&cut, 0)
	judgeOne(t, f, again, 0, 5000, 5000, 5e12)
	if got := judgeOne(t, f, again, 1, 4102444800000, 4102444800000, 5e12); got != "future" ||
		again.appendTime != 5000 {
		t.Errorf("read again when its time has come: %s, append time %d", got, again.appendTime)
	}
}

// TestRuleNoTimeOfARecordWrapsAround: a producer may write any int64 as a
// record's time. One at the end of its range closes no window, and the next
// record has the outcome that it would have without it.
func TestRuleNoTimeOfARecordWrapsAround(t *testing.T) {
	const now = 6000
	c := timeRules{trustProducer: true, lateness: 100, skew: 50}
	spec := schemas.MetricSpec{Lateness: c.lateness}
	for _, stamp := range []int64{calendar.Never, calendar.Never + 1, calendar.Never + 99, calendar.Never + 100,
		-62135596800000, -1, 0, 1, calendar.Forever, calendar.Forever - 1, calendar.Forever - 50, 253402300799999} {
		for _, event := range []int64{-62135596800000, -1, 0, 5000, 253402300799999} {
			f, p := testFates(t, c), newPartition()
			if got := judgeOne(t, f, p, 0, stamp, event, now); strings.HasPrefix(got, "late") && event >= 5000 {
				t.Errorf("stamp %d, event of %d: %s", stamp, event, got)
			}
			if w := p.watermark(spec); w > min(stamp, now+c.skew) {
				t.Errorf("stamp %d: the watermark is %d", stamp, w)
			}
			if got := judgeOne(t, f, p, 1, 5000, 5000, now); got != "turn 5" || p.watermark(spec) != 4900 {
				t.Errorf("after a record with stamp %d: %s, watermark %d", stamp, got, p.watermark(spec))
			}
		}
	}
}

// TestRuleNoRecordStopsTheProcess: whatever a record holds, it has an outcome.
func TestRuleNoRecordStopsTheProcess(t *testing.T) {
	f := testFates(t, timeRules{})
	for _, value := range []string{"", "x", "{}", `{"user":null}`, `{"user":"","key":"k","time":1}`,
		`{"user":"u","key":"k","time":"soon"}`,
		`{"user":"u","key":"k","time":9e99}`, "\x00\xff", `[1,2]`, `{"user":{},"key":"k","time":1}`} {
		tallies := newTallies()
		v, err := f.classify(newPartition(), &kafkalog.Record{Value: []byte(value)}, 0)
		v.tally(&tallies)
		if err != nil || v.Outcome != watch.DeadLettered || v.class == "" || v.turn != 0 ||
			!cmp.Equal(tallies, schemas.ReadTallies{Read: 1, DeadLettered: map[string]uint64{v.class: 1}}) {
			t.Errorf("%q: %+v, error %v, tallies %+v", value, v, err, tallies)
		}
	}
}
