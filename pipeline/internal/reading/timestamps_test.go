package reading

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A batch with producer times stops a deployment that was promised append times; an empty response
// has no type.
func TestRuleTheTimestampTypeOfEveryBatchIsChecked(t *testing.T) {
	records := []kafkalog.Record{{Value: []byte("{}")}}
	for _, c := range []struct {
		name  string
		trust string
		got   kafkalog.Fetched
		stops bool
	}{
		{"producer times where append times were promised", deployment.TrustBroker, kafkalog.Fetched{Records: records},
			true},
		{"append times where they were promised", deployment.TrustBroker,
			kafkalog.Fetched{Records: records, AppendTime: true}, false},
		{"an empty answer", deployment.TrustBroker, kafkalog.Fetched{}, false},
		{"producer times under the producer-time promise", deployment.TrustProducer, kafkalog.Fetched{Records: records},
			false},
	} {
		s := &Source{dep: &deployment.Deployment{Config: deployment.Config{Time: deployment.Time{Trust: c.trust}}}}
		for _, next := range []int64{0, 1, 1000} {
			err := s.checkFetched(&partition{next: next}, &c.got)
			if c.stops != errors.Is(err, deployment.ErrLogFault) || (!c.stops && err != nil) {
				t.Errorf("%s, at offset %d: %v", c.name, next, err)
			}
		}
	}
}
