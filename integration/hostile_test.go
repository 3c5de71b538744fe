package integration

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const (
	evil     = "evil"         // the user whose records are hostile
	evilPage = "nobody-elses" // no other user has it
	smallest = 4096           // bytes of a record that is not oversized, so that brokers take one that is
)

// hostileRecord is a record with what may become of it.
type hostileRecord struct {
	kafkalog.Message
	outcome string // a class of dead letters, "before start", "future", "late" or "accepted"
}

// hostileValues returns what records can hold: event times from one end to the other, every class
// of dead letters that JSON has, nothing. outcome is that of a record with a sound time.
func hostileValues() []hostileRecord {
	var all []hostileRecord
	add := func(outcome, format string, args ...any) {
		all = append(all, hostileRecord{kafkalog.Message{Value: fmt.Appendf(nil, format, args...)}, outcome})
	}
	good := base.UnixMilli()
	for _, millis := range []int64{-62135596800000, -1, 0, 1, good - 1} {
		add("before start", `{"user":%q,"page":"p00","ts":%d}`, evil, millis)
	}
	add("future", `{"user":%q,"page":"p00","ts":253402300799999}`, evil)
	for _, millis := range []int64{math.MinInt64, math.MaxInt64, -62135596800001, 253402300800000} {
		add(event.ClassBadTimestamp, `{"user":%q,"page":"p00","ts":%d}`, evil, millis)
	}
	add(event.ClassBadTimestamp, `{"user":%q,"page":"p00","ts":9e99}`, evil)
	add(event.ClassBadTimestamp, `{"user":%q,"page":"p00","ts":"noon"}`, evil)
	add(event.ClassUndecodable, `{"user":%q`, evil)
	add(event.ClassMissingField, `{"user":%q,"ts":%d}`, evil, good)
	add(event.ClassNullField, `{"user":%q,"page":null,"ts":%d}`, evil, good)
	add(event.ClassWrongType, `{"user":[%q],"page":"p00","ts":%d}`, evil, good)
	add(event.ClassEmptyUser, `{"user":"","page":"p00","ts":%d}`, good)
	add(event.ClassUserTooLong, `{"user":%q,"page":"p00","ts":%d}`, strings.Repeat("e", 1025), good)
	add(event.ClassKeyTooLong, `{"user":%q,"page":%q,"ts":%d}`, evil, strings.Repeat("k", 513), good)
	add(event.ClassNotUTF8, "{\"user\":%q,\"page\":\"\xff\",\"ts\":%d}", evil, good)
	add(event.ClassOversized, `{"user":%q,"page":"p00","ts":%d,"more":%q}`, evil, good, strings.Repeat("x", smallest))
	add("skipped", "")
	add("skipped", "")
	all[len(all)-1].Value = nil
	for i := range all {
		switch i % 3 {
		case 1:
			all[i].Key = []byte{}
		case 2:
			all[i].Key = []byte(evil)
			all[i].Headers = []kafkalog.Header{{Key: "", Value: bytes.Repeat([]byte{0xff}, 20_000)}}
		}
	}
	last := all[len(all)-2:] // as large as a topic takes them
	last[0].Key, last[1].Headers = bytes.Repeat([]byte{0xff}, 990_000), []kafkalog.Header{{Key: "", Value: bytes.Repeat([]byte{0xff}, 990_000)}}
	return all
}

// hostileStamps are times of records that move no watermark: before everybody else's, or ahead of
// every clock.
func hostileStamps() []int64 {
	return []int64{
		math.MinInt64, math.MinInt64 + 1, -62135596800000, -2, -1, 0, 1, base.Add(-time.Hour).UnixMilli(),
		time.Now().Add(24 * time.Hour).UnixMilli(), 253402300799999, math.MaxInt64 - 1, math.MaxInt64,
	}
}

// hostileProducer returns hostile records on a topic with producers' times. near is the time of the
// record beside them.
func hostileProducer(near int64) []hostileRecord {
	stamps := hostileStamps()
	all := hostileValues()
	for i := range all {
		at := stamps[i%len(stamps)]
		all[i].Timestamp = kafkalog.At(at)
	}
	for _, at := range stamps { // an event like any other, but for its record's time
		outcome := "future"
		if at < near && near > base.Add(20*time.Second).UnixMilli() {
			outcome = "late" // after records that have moved the watermark
		}
		all = append(all, hostileRecord{kafkalog.Message{Value: goodEvent(evil, "p00", at, base.UnixMilli()).value, Timestamp: kafkalog.At(at)}, outcome})
	}
	return append(all, hostileRecord{kafkalog.Message{Value: goodEvent(evil, evilPage, near, near).value, Timestamp: kafkalog.At(near)}, "accepted"})
}

func messagesOf(arrivals []arrival) []kafkalog.Message {
	out := make([]kafkalog.Message, len(arrivals))
	for i, a := range arrivals {
		out[i] = kafkalog.Message{Value: a.value, Timestamp: kafkalog.At(a.stamp)}
	}
	return out
}

// outcome is all that a deployment says of all users but one.
type outcome struct {
	values   map[string][]byte
	accounts map[reference.Owner]reference.Account
	tallies  map[string]uint64
}

func (d *deployment) outcome() outcome {
	d.t.Helper()
	d.verify()
	counts, err := d.readCounts()
	if err != nil {
		d.t.Fatal(err)
	}
	tr, err := d.readTrusted()
	if err != nil {
		d.t.Fatal(err)
	}
	accounts, err := d.accounts(tr)
	if err != nil {
		d.t.Fatal(err)
	}
	id := schemas.NewHasher(d.config.Keys.UserHash.Reveal()).Account([]byte(evil))
	maps.DeleteFunc(accounts, func(o reference.Owner, _ reference.Account) bool { return o.ID == id })
	r := d.report()
	tallies := map[string]uint64{"before start": r.BeforeStart, "late": r.Late, "future": r.Future, "overtaken": r.Overtaken, "accepted": r.Accepted, "skipped": r.Skipped}
	maps.Copy(tallies, r.DeadLettered)
	return outcome{counts.values, accounts, tallies}
}

// sameFor fails the test unless nothing but the tallies of the hostile records came of them.
func (o outcome) sameFor(t *testing.T, what string, with outcome, added []hostileRecord) {
	t.Helper()
	for key, value := range o.values {
		if !bytes.Equal(with.values[key], value) {
			t.Errorf("%s: a value that was published is another one or none", what)
		}
	}
	for key, value := range with.values {
		if r, err := schemas.DecodeRelease(value); o.values[key] == nil && (err != nil || r.Key != evilPage) {
			t.Errorf("%s: a value too many: %s", what, brief(r))
		}
	}
	if !maps.EqualFunc(o.accounts, with.accounts, func(a, b reference.Account) bool {
		return a.Spent.Cmp(b.Spent) == 0
	}) {
		t.Errorf("%s: somebody else has paid another amount", what)
	}
	want := maps.Clone(o.tallies)
	for _, h := range added {
		want[h.outcome]++
	}
	if !maps.Equal(want, with.tallies) {
		t.Errorf("%s: tallies %v, want %v", what, with.tallies, want)
	}
}

func small(c *pipeline.Config) { c.Events.Format.MaxRecordBytes = smallest }

// insert puts hostile records among others.
func insert(others []kafkalog.Message, index int, hostile []hostileRecord) []kafkalog.Message {
	var own []kafkalog.Message
	for _, h := range hostile {
		own = append(own, h.Message)
	}
	return slices.Insert(slices.Clone(others), index, own...)
}

// Whatever one user writes to a topic with producers' times, and wherever it is on the topic: as
// long as the record's time moves no watermark, no other record's outcome and no other user's
// admission, charge or count changes.
func TestRuleOneHostileRecordOnATopicChangesNoOtherUser(t *testing.T) {
	broker := startBroker(t)
	w := usualWorkload(811)
	parts := spread(w.arrivals(), 2)
	others := messagesOf(parts[0])
	deploy := func(name string) *deployment {
		d := newDeployment(t, broker, name, 2, tight, small)
		d.load([][]arrival{nil, parts[1]})
		return d
	}
	plain := deploy("hostilenone")
	plain.produce(0, others)
	plain.run()
	want := plain.outcome()
	if len(want.values) < 50 || want.tallies["accepted"] < 500 || want.tallies["late"] == 0 {
		t.Fatalf("%d values, tallies %v: the case is not what it should be", len(want.values), want.tallies)
	}
	number := 0
	check := func(index int, hostile ...hostileRecord) {
		t.Helper()
		number++
		d := deploy(fmt.Sprintf("hostile%d", number))
		d.produce(0, insert(others, index, hostile))
		d.run()
		want.sameFor(t, fmt.Sprintf("%d records at %d, the first: %.80q", len(hostile), index, hostile[0].Value), d.outcome(), hostile)
	}
	for at, index := range []int{0, len(others) / 2, len(others)} {
		near := parts[0][min(index, len(others)-1)].stamp
		all := hostileProducer(near)
		check(index, all...)
		for i, h := range all {
			if long.On() && kind(t) == embeddedKind && i%3 == at {
				check(index, h)
			}
		}
	}
}

// A run that follows the topic meets them first and alone, and closes nothing for them.
func TestRuleHostileRecordsCloseNoTurn(t *testing.T) {
	broker := startBroker(t)
	w := calm(812)
	others := messagesOf(w.arrivals())
	plain := newDeployment(t, broker, "hostilecalm", 1, tight, small)
	plain.produce(0, others)
	plain.run()
	want := plain.outcome()
	hostile := hostileProducer(base.UnixMilli())
	d := newDeployment(t, broker, "hostilelive", 1, tight, small)
	run := d.live()
	d.produce(0, insert(nil, 0, hostile[1:2])) // the largest time so far is one that lateness must not be taken from
	run.quietFor(t, 500*time.Millisecond)
	d.produce(0, insert(nil, 0, slices.Delete(slices.Clone(hostile[:len(hostile)-1]), 1, 2)))
	run.quietFor(t, 500*time.Millisecond)
	d.produce(0, insert(others, 0, hostile[len(hostile)-1:]))
	run.finish(t)
	d.run()
	for i, r := range d.records(d.config.Events.Topic, 0)[:len(hostile)] { // no broker and no client has made another time of any of them
		sent := slices.Concat(hostile[1:2], hostile[:1], hostile[2:])
		if at, _ := sent[i].Timestamp.Millis(); r.Timestamp != at {
			t.Errorf("a record of %d came back with %d", at, r.Timestamp)
		}
	}
	want.sameFor(t, "records before all others", d.outcome(), hostile)
}

// With append times not even a record's own time decides: the same at the beginning, in the middle
// and at the end of a topic.
func TestRuleOneHostileRecordChangesNoOtherUserUnderAppendTimes(t *testing.T) {
	needReal(t)
	broker := startBroker(t)
	start := time.Now().Add(-40 * time.Second).Truncate(2 * time.Second)
	deploy := func(name string) *deployment {
		createTopic(t, broker, name+"-events", 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
		d := newDeploymentAt(t, broker, name, 0, start, tight, small, func(c *pipeline.Config) {
			c.Time = pipeline.Time{Trust: pipeline.TrustBroker, Lateness: time.Hour, Skew: time.Minute, IdleGrace: 24 * time.Hour}
			c.Metrics = []pipeline.Metric{publicMetric("visits", 2*time.Second), privateMetric("pages", 2*time.Second)}
		})
		d.partitions = 1
		d.adjust = func(c *reference.Config) {
			c.Start, c.Slack, c.Clock = start.UnixMilli(), (5 * time.Second).Milliseconds(), 0
		}
		return d
	}
	var others []kafkalog.Message
	for i, a := range calm(813).arrivals() {
		millis := start.UnixMilli() + (a.stamp-base.UnixMilli())/10 // twelve windows of ten seconds become ones of one
		others = append(others, kafkalog.Message{Value: goodEvent(a.user, fmt.Sprintf("p%02d", i%5), 0, millis).value, Timestamp: kafkalog.At(millis)})
	}
	plain := deploy("hostileappendnone")
	plain.produce(0, others)
	plain.run()
	want := plain.outcome()
	var hostile []hostileRecord
	for i, h := range hostileValues() {
		h.Timestamp = kafkalog.At(hostileStamps()[i%len(hostileStamps())])
		hostile = append(hostile, h)
	}
	hostile = append(hostile, hostileRecord{kafkalog.Message{Value: goodEvent(evil, evilPage, 0, start.UnixMilli()).value, Timestamp: kafkalog.At(0)}, "accepted"})
	d := deploy("hostileappend")
	with := insert(others, len(others), hostile)
	with = insert(with, len(others)/2, hostile)
	d.produce(0, insert(with, 0, hostile))
	d.run()
	want.sameFor(t, "records at three places", d.outcome(), slices.Repeat(hostile, 3))
}
