package pipeline

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// A batch with producer times in a deployment that was promised append times
// stops it; an empty answer says nothing about its type.
func TestRuleTheTimestampTypeOfEveryBatchIsChecked(t *testing.T) {
	records := []klog.Record{{Value: []byte("{}")}}
	for _, c := range []struct {
		name  string
		trust string
		got   klog.Got
		stops bool
	}{
		{"producer times where append times were promised", TrustBroker, klog.Got{Records: records}, true},
		{"append times where they were promised", TrustBroker, klog.Got{Records: records, AppendTime: true}, false},
		{"an empty answer", TrustBroker, klog.Got{}, false},
		{"producer times under the producer-time promise", TrustProducer, klog.Got{Records: records}, false},
	} {
		r := &reader{dep: &Deployment{cfg: Config{Time: Time{Trust: c.trust}}}}
		err := r.fault(&partition{}, &c.got)
		if c.stops != errors.Is(err, ErrLogFault) || (!c.stops && err != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Before a turn is released the records that the shards saw must add up to what
// READ says it packed: runners have lost records.
func TestRuleReadAndSpendCountTheSameRecords(t *testing.T) {
	partials := func(total uint64, records ...uint64) []schemas.Partial {
		out := make([]schemas.Partial, len(records))
		for i, n := range records {
			out[i] = schemas.Partial{Turn: 7, Shard: uint32(i), Shards: uint32(len(records)), Records: n, Total: total}
		}
		return out
	}
	if err := balanced(0, partials(6, 1, 2, 3)); err != nil {
		t.Errorf("equal numbers: %v", err)
	}
	for _, p := range [][]schemas.Partial{partials(7, 1, 2, 3), partials(5, 1, 2, 3), partials(1, 0, 0, 0)} {
		var stop *spend.StopError
		if err := balanced(0, p); !errors.As(err, &stop) || stop.Turn != 7 {
			t.Errorf("%d records announced: %v, want a stop at turn 7", p[0].Total, err)
		}
	}
}
