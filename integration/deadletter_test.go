package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// Every broken record is on the dead-letter topic, once, with its original key, bytes and headers,
// its origin and its class.
func TestInvariant6BrokenRecordsAreDeadLettered(t *testing.T) {
	d := newDeployment(t, startBroker(t), "dead", 2)
	w := usualWorkload(41)
	w.Broken = 20
	random := rand.New(runseed.PCG(t, 41, 3))
	sent := map[int32][]kafkalog.Message{}
	for p, arrivals := range spread(w.arrivals(), 2) {
		for _, a := range arrivals {
			m := kafkalog.Message{Value: a.value, Timestamp: kafkalog.At(a.stamp)}
			m.Key = [][]byte{nil, {}, []byte(a.user), {0, 0xff, '"'}}[random.IntN(4)]
			m.Headers = decorations()[random.IntN(len(decorations()))]
			sent[int32(p)] = append(sent[int32(p)], m)
		}
		d.produce(int32(p), sent[int32(p)])
	}
	d.run()
	d.verify()
	missing := d.expectedDeadLetters(sent)
	for _, r := range d.records(d.config.Outputs.DeadLetter, 0) {
		where := originIn(r.Headers)
		want, ok := missing[where]
		switch {
		case !ok:
			t.Errorf("%s is dead-lettered twice, or without being broken", where)
		case !sameBytes(r.Key, want.Key):
			t.Errorf("%s is dead-lettered with the key %q, want %q", where, r.Key, want.Key)
		case !sameBytes(r.Value, want.Value):
			t.Errorf("%s is dead-lettered with the bytes %q, want %q", where, r.Value, want.Value)
		case !slices.EqualFunc(r.Headers, want.Headers, sameHeader):
			t.Errorf("%s is dead-lettered with the headers %q, want %q", where, r.Headers, want.Headers)
		}
		delete(missing, where)
	}
	if len(missing) > 0 {
		t.Errorf("%d broken records are not on the dead-letter topic", len(missing))
	}
}

// decorations are headers that a record may have, one after the other: none, several of one name,
// empty ones and ones without a value, and some that look like the pipeline's own.
func decorations() [][]kafkalog.Header {
	return [][]kafkalog.Header{
		nil,
		{{Key: "trace", Value: []byte("00-4bf9")}},
		{{Key: "empty", Value: []byte{}}, {Key: "null", Value: nil}, {Key: "", Value: []byte("unnamed")}},
		{{Key: "twice", Value: []byte{1}}, {Key: "twice", Value: []byte{0xfe, 0}}},
		{{Key: "tollgate-class", Value: []byte("faked")}, {Key: "tollgate-offset", Value: []byte("7")}, {Key: "tollgate-length", Value: nil}},
	}
}

// expectedDeadLetters returns, by origin, what the reference wants on the dead-letter topic of what
// was sent.
func (d *deployment) expectedDeadLetters(sent map[int32][]kafkalog.Message) map[string]kafkalog.Message {
	d.t.Helper()
	want := map[string]kafkalog.Message{}
	keys, headers := map[string]int{}, map[int]int{}
	for p, judged := range d.outcomesOf(d.eventLog()) {
		if len(judged) != len(sent[p]) {
			d.t.Fatalf("partition %d has %d records, sent were %d", p, len(judged), len(sent[p]))
		}
		for offset, j := range judged {
			if j.Outcome != reference.DeadLettered {
				continue
			}
			m := sent[p][offset]
			stamp, _ := m.Timestamp.Millis()
			length := "null"
			if m.Value != nil {
				length = fmt.Sprint(len(m.Value))
			}
			var own []kafkalog.Header
			for _, h := range [][2]string{
				{"class", j.Class}, {"topic", d.config.Events.Topic}, {"partition", fmt.Sprint(p)}, {"offset", fmt.Sprint(offset)},
				{"timestamp", fmt.Sprint(stamp)}, {"length", length},
			} {
				own = append(own, kafkalog.Header{Key: "tollgate-" + h[0], Value: []byte(h[1])})
			}
			keys[fmt.Sprintf("%v %d", m.Key == nil, min(len(m.Key), 1))]++
			headers[len(m.Headers)]++
			m.Headers = append(own, m.Headers...)
			want[originIn(m.Headers)] = m
		}
	}
	if len(keys) != 3 || len(headers) != 4 {
		d.t.Fatalf("the broken records say little: by kind of key %v, by number of headers %v", keys, headers)
	}
	return want
}

// originIn returns what a dead letter says about where its record stood. Of several headers of a
// name, the pipeline wrote the first.
func originIn(headers []kafkalog.Header) string {
	first := map[string]string{}
	for _, h := range headers {
		if _, known := first[h.Key]; !known {
			first[h.Key] = string(h.Value)
		}
	}
	return fmt.Sprintf("%s/%s/%s", first["tollgate-topic"], first["tollgate-partition"], first["tollgate-offset"])
}

// sameBytes tells nothing and empty apart, as Kafka does.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func sameHeader(a, b kafkalog.Header) bool { return a.Key == b.Key && sameBytes(a.Value, b.Value) }
