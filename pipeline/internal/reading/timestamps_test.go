package reading

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A batch with producer times in a deployment that was promised append times
// stops it; an empty answer says nothing about its type.
func TestRuleTheTimestampTypeOfEveryBatchIsChecked(t *testing.T) {
	records := []klog.Record{{Value: []byte("{}")}}
	for _, c := range []struct {
		name  string
		trust string
		got   klog.Fetched
		stops bool
	}{
		{"producer times where append times were promised", deployment.TrustBroker, klog.Fetched{Records: records}, true},
		{"append times where they were promised", deployment.TrustBroker, klog.Fetched{Records: records, AppendTime: true}, false},
		{"an empty answer", deployment.TrustBroker, klog.Fetched{}, false},
		{"producer times under the producer-time promise", deployment.TrustProducer, klog.Fetched{Records: records}, false},
	} {
		r := &Source{dep: &deployment.Deployment{Config: deployment.Config{Time: deployment.Time{Trust: c.trust}}}}
		err := r.fault(&partition{}, &c.got)
		if c.stops != errors.Is(err, deployment.ErrLogFault) || (!c.stops && err != nil) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
