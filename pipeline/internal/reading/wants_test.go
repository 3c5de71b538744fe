package reading

import (
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
)

// With more partitions than a response has room for, none is left behind: all advance in event time
// together, although a broker serves partitions in order until the response is full.
func TestRuleNoPartitionStarves(t *testing.T) {
	const partitions, chunks, room = 64, 50, 8
	f := testFates(t, timeRules{})
	s := &Source{classifier: *f, control: &controllog.Log{Topic: "control"},
		dep: &deployment.Deployment{Metrics: make([]deployment.CompiledMetric, 1)}}
	s.dep.Config.Events.Topic = "events"
	step := func(id int32) int64 { return 200 + 50*int64(id%5) } // milliseconds that a chunk holds
	for id := range int32(partitions) {
		p := newPartition()
		p.id = id
		s.partitions = append(s.partitions, p)
	}
	var settled uint64
	for rounds := 0; ; rounds++ {
		fetches, byID := s.nextFetches(7, settled)
		if c := fetches[0]; c.Topic != "control" || c.Offset != 7 || len(fetches) != len(byID)+1 {
			t.Fatalf("control is not asked for first, or a partition twice: %+v", fetches)
		}
		served := 0
		for _, fetch := range fetches[1:] {
			p := byID[fetch.Partition]
			if p.next == chunks || served == room {
				continue
			}
			served++
			p.next++
			p.appendTime = s.classifier.turns.Start + p.next*step(p.id)
		}
		if served == 0 {
			if least := partitions * chunks / room; rounds > least+partitions {
				t.Errorf("all is read after %d rounds, %d would do", rounds, least)
			}
			break
		}
		first, last := int64(calendar.Forever), int64(calendar.Never)
		for _, p := range s.partitions {
			if p.next < chunks {
				millis := s.classifier.turns.Start + p.next*step(p.id)
				first, last = min(first, millis), max(last, millis)
			}
		}
		if first < last && last-first > 2*400 {
			t.Fatalf("round %d: a partition is %d ms behind another one", rounds, last-first)
		}
		for first < calendar.Forever && s.classifier.turns.End(settled+1) <= first {
			settled++
			s.closed = settled
		}
	}
	for _, p := range s.partitions {
		if p.next != chunks {
			t.Errorf("partition %d was read up to %d of %d", p.id, p.next, chunks)
		}
	}
}
