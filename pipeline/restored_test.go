package pipeline

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/schemas"
)

// moments is a deployment of two turns, and where its topics ended after the first.
type moments struct {
	*elections
	d     *deployment.Deployment
	first map[string][]int64 // by topic and partition
}

func newMoments(t *testing.T, change func(*deployment.Config)) *moments {
	t.Helper()
	m := &moments{elections: startElections(t), first: map[string][]int64{}}
	cfg := deploytest.Config(m.ListenAddrs()[0])
	cfg.Shards = 1
	change(&cfg)
	m.d = makeTopics(t, cfg, nil)
	must.Succeed(t, Init(t.Context(), m.d, InitOptions{Start: time.Unix(60, 0)}))
	m.history("events")
	m.events(60, 60)
	m.mustRun()
	for _, spec := range topicrules.Specs(m.d, 1, 1) {
		for p := range spec.Partitions {
			bounds := must.Have(m.client.Offsets(t.Context(), spec.Name, int32(p)))
			m.first[spec.Name] = append(m.first[spec.Name], bounds.High)
		}
	}
	m.events(120, 40)
	m.mustRun()
	return m
}

// events writes events of as many users, a second apart.
func (m *moments) events(from int64, n int) {
	m.t.Helper()
	appendEvents(m.t, m.ListenAddrs()[0], eventsAt(time.Unix(from, 0), n)...)
}

func (m *moments) run(o RunOptions) error {
	o.Bounded = true
	_, err := Run(m.t.Context(), m.d, o)
	return err
}

func (m *moments) mustRun() {
	m.t.Helper()
	must.Succeed(m.t, m.run(RunOptions{}))
}

// again recreates a topic with the records that keep accepts. With holes the offsets between them
// are filled; without, they move.
func (m *moments) again(topic string, holes bool, keep func(p int32, r kafkalog.Record) bool) {
	m.t.Helper()
	m.rewrite(topic, func(p int32, r kafkalog.Record, kept []kafkalog.Message) []kafkalog.Message {
		if !keep(p, r) {
			return kept
		}
		for holes && int64(len(kept)) < r.Offset {
			kept = append(kept, kafkalog.Message{Key: []byte("filler"), Timestamp: kafkalog.At(1)})
		}
		return append(kept, messageOf(r))
	})
}

func messageOf(r kafkalog.Record) kafkalog.Message {
	return kafkalog.Message{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value), Headers: r.Headers,
		Timestamp: kafkalog.At(r.Timestamp)}
}

// rewrite makes a topic anew with what add makes of its records, one after the other, in each
// partition.
func (m *moments) rewrite(topic string, add func(p int32, r kafkalog.Record,
	kept []kafkalog.Message) []kafkalog.Message) {
	m.t.Helper()
	specs := topicrules.Specs(m.d, 1, 1)
	spec := specs[slices.IndexFunc(specs, func(s kafkalog.TopicSpec) bool { return s.Name == topic })]
	kept := make([][]kafkalog.Message, spec.Partitions)
	for p := range kept {
		eachRecord(m.t, m.d, topic, int32(p), func(r kafkalog.Record) { kept[p] = add(int32(p), r, kept[p]) })
	}
	must.Succeed(m.t, m.DeleteTopic(topic))
	must.Succeed(m.t, m.client.CreateTopics(m.t.Context(), spec))
	for p := range kept {
		if len(kept[p]) == 0 {
			continue
		}
		appendTo(m.t, m.client, topic, int32(p), kept[p]...)
	}
}

// twice writes the record at an offset a second time, right after itself.
func (m *moments) twice(topic string, offset int64) {
	m.t.Helper()
	m.rewrite(topic, func(_ int32, r kafkalog.Record, kept []kafkalog.Message) []kafkalog.Message {
		kept = append(kept, messageOf(r))
		if r.Offset == offset {
			kept = append(kept, messageOf(r))
		}
		return kept
	})
}

// restore makes topics what they were after the first turn.
func (m *moments) restore(topics ...string) {
	m.t.Helper()
	for _, topic := range topics {
		m.again(topic, true, func(p int32, r kafkalog.Record) bool { return r.Offset < m.first[topic][p] })
	}
}

// change makes a change that topics of one moment would allow.
func (m *moments) change(dryRun bool) error {
	next := m.d.Config
	next.Metrics = slices.Clone(next.Metrics)
	next.Metrics[0].MaxKeysPerUser++
	_, err := Change(m.t.Context(), mustCompile(m.t, next), ChangeOptions{DryRun: dryRun})
	return err
}

// refused fails the test unless checks, changes and runs are refused in these words, write no STOP
// and publish nothing.
func (m *moments) refused(says string) {
	m.t.Helper()
	before, end := m.values(), endOf(m.t, m.d, controlTopic)
	for what, err := range map[string]error{"validate": CheckTopics(m.t.Context(), m.d, CheckOptions{Start: true}),
		"change": m.change(false), "change --dry-run": m.change(true)} {
		if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), says) {
			m.t.Errorf("%s: %v\ndoes not say\n%s", what, err, says)
		}
	}
	if after := endOf(m.t, m.d, controlTopic); after != end {
		m.t.Errorf("control grew from %d to %d", end, after)
	}
	for range 2 { // a refusal writes nothing that would let the next one pass
		if err := m.run(RunOptions{}); !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), says) {
			m.t.Fatalf("%v\ndoes not say\n%s", err, says)
		}
	}
	if after := m.values(); after != before {
		m.t.Errorf("%d values were published", after-before)
	}
	if s, err := ReadStatus(m.t.Context(), m.d, time.Now()); err != nil || s.Stop != nil {
		m.t.Errorf("the refusal has left %v, %v", s, err)
	}
}

func (m *moments) values() int {
	m.t.Helper()
	all := must.Have(ReadReleases(m.t.Context(), m.d))
	return len(all)
}

// otherEvents replaces the events of the second turn by n events, starting at a time in seconds.
func (m *moments) otherEvents(from int64, n int) {
	m.t.Helper()
	m.again("events", false, func(_ int32, r kafkalog.Record) bool { return r.Timestamp < 120_000 })
	m.events(from, n)
}

const (
	controlTopic = "tollgate-control"
	ledgerTopic  = "tollgate-ledger"
	countsTopic  = "tollgate-counts"
	turnsTopic   = "tollgate-turns"
)

// Control, ledger and counts are restored without a published turn, and its events have changed:
// the turns topic still has the end of that turn.
func TestRuleATurnWhoseEndWasToldIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	m := newMoments(t, func(*deployment.Config) {})
	m.elsewhere()
	m.otherEvents(120, 20)
	m.restore(controlTopic, ledgerTopic, countsTopic)
	m.refused("comparing topic tollgate-turns with control: it says that turn 2 is settled, but control has settled " +
		"turn 1: control was restored from an older copy")
	m.restore(turnsTopic)
	// Ends that no run of this deployment can have written are ignored.
	for _, end := range []schemas.TurnEnd{
		{Turn: 1 << 40, End: 1, Generation: 1, Counts: countsTopic, CountsEnd: []int64{9}},
		{Turn: 3, End: 240_000, Generation: 1, Counts: "other", CountsEnd: []int64{9}},
	} {
		value := must.Have(schemas.EncodeTurnEnd(end))
		appendRecord(t, m.d, turnsTopic, kafkalog.Message{Value: value, Timestamp: kafkalog.Now()})
	}
	m.mustRun()
}

// Some of the topics are restored to a turn earlier: a run continues and publishes the same values,
// or is refused and writes nothing.
func TestRuleNothingIsReleasedTwiceAfterARestore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		older []string
		says  string // "": it goes on
	}{
		{[]string{"events", controlTopic, ledgerTopic, countsTopic, turnsTopic}, ""},
		{[]string{controlTopic, ledgerTopic, countsTopic, turnsTopic}, ""},
		{[]string{turnsTopic}, ""},
		{[]string{"events"}, "are gone"},
		{[]string{controlTopic}, "it says that turn 2 is settled, but control has settled turn 1: control was " +
			"restored from an older copy"},
		{[]string{controlTopic, turnsTopic}, "control was restored from an older copy than the ledger"},
		{[]string{ledgerTopic}, "the ledger was restored from an older copy than control"},
		{[]string{countsTopic}, "but when turn 2 was settled it ended at"},
		{[]string{"events", controlTopic, ledgerTopic, turnsTopic}, "counts contains values of it, but"},
		{[]string{"events", controlTopic, ledgerTopic, countsTopic}, "it says that turn 2 is settled, but control " +
			"has settled turn 1"},
	} {
		t.Run(strings.Join(tt.older, ", "), func(t *testing.T) {
			t.Parallel()
			m := newMoments(t, func(*deployment.Config) {})
			published := valuesOn(t, m.d)
			events := endOf(t, m.d, "events")
			m.elsewhere()
			m.restore(tt.older...)
			err := m.run(RunOptions{})
			if (err == nil) != (tt.says == "") || err != nil && (!errors.Is(err, deployment.ErrLogFault) ||
				!strings.Contains(err.Error(), tt.says)) {
				t.Errorf("the run ended with %v, want %q", err, tt.says)
			}
			if err == nil && endOf(t, m.d, "events") < events { // the second turn's records are repeated
				m.events(120, 40)
				m.mustRun()
			}
			for key, value := range valuesOn(t, m.d) {
				if published[key] != value {
					t.Errorf("%s has another value after the restore", key)
				}
			}
		})
	}
}

// A copy of counts without the markers of transactions moves values of an open turn below the end
// of the settled one, where runs do not look for them.
func TestRuleCountsWithOtherOffsetsAreRefused(t *testing.T) {
	t.Parallel()
	m := newMoments(t, func(*deployment.Config) {})
	m.otherEvents(120, 20)
	left := m.first[countsTopic][0]
	m.again(countsTopic, false, func(int32, kafkalog.Record) bool { left--; return left >= 0 })
	m.restore(controlTopic, ledgerTopic, turnsTopic)
	m.refused("comparing topic tollgate-counts with control: values of turn 2 are in partition 0 before offset 4, " +
		"where turn 1 ended: a copy changed the offsets")
}

// A copy of the events without what retention has taken has other records at the offsets of the
// last CLOSE: those that were not read yet would be passed over. On the same cluster, a topic that
// was created again is refused, whatever its records are.
func TestRuleEventsWithOtherOffsetsAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		acceptFuture bool
		stray        bool // the record below the restart offset has a time that was read
		refuses      bool
		warns        bool
		strict       bool
		same         bool // cluster
	}{
		"no stamp is ahead of the clock":              {acceptFuture: true, refuses: true},
		"stamps may be":                               {warns: true},
		"stamps may be, and one record near is older": {stray: true, strict: true},
		"stamps may be, and the run is strict":        {refuses: true, strict: true},
		"created again on the same cluster":           {stray: true, refuses: true, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoments(t, func(c *deployment.Config) { c.Time.AcceptFuture = tt.acceptFuture })
			if !tt.same {
				m.elsewhere()
			}
			m.history("events") // the first records are gone: later ones have their offsets
			m.events(160, 99)
			last := int64(259)
			if tt.stray {
				last = 100
			}
			m.events(last, 1)
			m.events(260, 30)
			says := "comparing partition 0 of events with the CLOSE of turn 2: records before offset 100 are later " +
				"than all that were read there"
			if tt.same {
				says = "comparing topic events with the one that was read: its id is "
			}
			var log bytes.Buffer
			err := m.run(RunOptions{Logger: deploytest.Logger(&log), Strict: tt.strict, Disposable: true})
			if tt.refuses != (errors.Is(err, ErrLogFault) && strings.Contains(err.Error(), says)) {
				t.Errorf("refuses: %v, want %v", err, tt.refuses)
			}
			if warned := strings.Contains(log.String(), "later than all records that counted there"); warned !=
				tt.warns {
				t.Errorf("warned: %v, want %v: %s", warned, tt.warns, &log)
			}
		})
	}
}

// Ledger and control that were restored from copies of different moments are refused before
// anything is written, so that better copies can take their place.
func TestRuleLedgerAndControlOfDifferentMomentsAreRefused(t *testing.T) {
	t.Parallel()
	m := newMoments(t, func(*deployment.Config) {})
	m.events(180, 60)
	m.mustRun()
	m.restore(ledgerTopic)
	m.refused("comparing topic tollgate-ledger with control: partition 0 has decided turn 1, but control has settled " +
		"turn 3: the ledger was restored from an older copy than control")
	m.restore(controlTopic, countsTopic, turnsTopic)
	m.mustRun()

	m = newMoments(t, func(*deployment.Config) {})
	m.events(180, 60)
	m.mustRun()
	m.restore(controlTopic, turnsTopic)
	m.refused("partition 0 has decided turn 3, but control has settled turn 1: control was restored from an older " +
		"copy than the ledger")

	m = newMoments(t, func(*deployment.Config) {})
	m.restore(controlTopic, turnsTopic)
	m.refused("starting at turn 2: the ledger has decided it, but control has no CLOSE for it: control was restored " +
		"from an older copy than the ledger")
	m.restore(ledgerTopic, countsTopic)
	m.mustRun()
}

// An interrupted copier writes some records twice, and shifts all later ones: whichever record of
// control is repeated, no turn is decided again.
func TestRuleAControlTopicWithARecordTwiceGivesNoSecondValue(t *testing.T) {
	t.Parallel()
	for offset := int64(0); ; offset++ {
		m := newMoments(t, func(*deployment.Config) {})
		bounds := must.Have(m.client.Offsets(t.Context(), controlTopic, 0))
		if offset >= bounds.High {
			break
		}
		m.twice(controlTopic, offset)
		m.otherEvents(119, 40) // as many, and one fewer in the second turn
		before := m.values()
		err := m.run(RunOptions{})
		t.Logf("offset %d: %v", offset, err)
		if after := m.values(); after != before {
			t.Errorf("offset %d: %d values were published, and then %v", offset, after-before, err)
		}
	}
}
