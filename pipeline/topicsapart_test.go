package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/changes"
	"github.com/tollgate-dp/tollgate/schemas"
)

// write appends a record to a partition.
func write(t *testing.T, d *deployment.Deployment, topic string, partition int32, value string) {
	t.Helper()
	m := kafkalog.Message{Key: []byte("k"), Value: []byte(value), Timestamp: kafkalog.Now()}
	appendTo(t, dial(t, d), topic, partition, m)
}

// A run before Init, or on a topic that is not a control topic, fails with that error.
func TestAMissingHeaderIsRefused(t *testing.T) {
	t.Parallel()
	const fix = ": the deployment is not initialised: begin the deployment with tollgate init"
	const other = "topic tollgate-control does not begin with a HEADER: check that it is this deployment's control " +
		"topic"
	for name, tt := range map[string]struct {
		after func(t *testing.T, d *deployment.Deployment)
		says  string
	}{
		"control is empty": {func(*testing.T, *deployment.Deployment) {}, "topic tollgate-control is empty" + fix},
		"control begins with a record of another kind": {func(t *testing.T, d *deployment.Deployment) {
			value := must.Have(schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Epoch{}}))
			write(t, d, "tollgate-control", 0, string(value))
		}, other},
		"control is another topic": {func(t *testing.T, d *deployment.Deployment) {
			write(t, d, "tollgate-control", 0, "hello")
		}, other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := makeTopics(t, deploytest.Config(deploytest.Start(t).Addr()), nil)
			tt.after(t, d)
			_, err := Run(t.Context(), d, RunOptions{Bounded: true})
			if !errors.Is(err, deployment.ErrNotInitialised) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the run ended with %v, want one that says %q", err, tt.says)
			}
		})
	}
}

// HEADER, control, ledger and counts are of one deployment or nothing runs.
func TestTopicsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	t.Parallel()
	without := func(topics ...string) func(specs) {
		return func(s specs) {
			for _, topic := range topics {
				delete(s, topic)
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(specs)
		holds  string // the topic that has a record
		says   []string
	}{
		"records and an empty control": {nil, "tollgate-ledger",
			[]string{"topic tollgate-control is empty, but topic tollgate-ledger holds records: control was lost"}},
		"records and no control": {without("control"), "tollgate-counts",
			[]string{"topic tollgate-control does not exist, but topic tollgate-counts holds records: control was " +
				"lost"}},
		"a HEADER and neither ledger nor counts": {without("ledger", "counts"), "tollgate-control", []string{
			"topic tollgate-ledger does not exist, but topic tollgate-control holds records",
			"topic tollgate-counts does not exist, but topic tollgate-control holds records",
		}},
		"a HEADER and no events": {without("events"), "tollgate-control",
			[]string{"topic events does not exist, but topic tollgate-control holds records"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := makeTopics(t, deploytest.Config(deploytest.Start(t).Addr()), tt.change)
			write(t, d, tt.holds, 0, map[bool]string{true: header(t, d), false: "x"}[tt.holds == "tollgate-control"])
			_, ran := Run(t.Context(), d, RunOptions{Bounded: true})
			for call, err := range map[string]error{"CheckTopics": CheckTopics(t.Context(), d, CheckOptions{}),
				"Init": Init(t.Context(), d, InitOptions{}), "Run": ran} {
				for _, says := range tt.says {
					if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), says) {
						t.Errorf("%s says\n%v\nwant\n%s", call, err, says)
					}
				}
			}
		})
	}
}

func header(t *testing.T, d *deployment.Deployment) string {
	t.Helper()
	h := changes.Header(d)
	h.FromTurn = 1
	value := must.Have(schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &h}))
	return string(value)
}
