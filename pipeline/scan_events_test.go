package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Whatever one individual writes, with any stamp and at any position, ScanEvents accepts the same
// events of all others: a protected choice of bounds pays for one individual's events only. An
// append time that runs ahead has no influence either.
func TestRuleOneRecordHidesNoOtherEventFromAChoice(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end := start.Add(2 * time.Minute)
	clocks := map[string]deployment.Time{
		"producers":                   {Trust: deployment.TrustProducer},
		"producers, future believed":  {Trust: deployment.TrustProducer, AcceptFuture: true},
		"append times":                {Trust: deployment.TrustBroker},
		"append times, a little late": {Trust: deployment.TrustBroker, Lateness: time.Second, Skew: time.Minute},
	}
	ranges := map[string]ScanOptions{"closed": {From: start, To: end}, "open": {}, "from": {From: start},
		"to": {To: end}}
	for name, clock := range clocks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := deploytest.Config(deploytest.Start(t).Addr())
			cfg.Time = clock
			d := mustCompile(t, cfg)
			must.Succeed(t, CreateTopics(t.Context(), d, TopicOptions{EventPartitions: 1}))
			stamps := []time.Time{start.AddDate(4, 0, 0), time.Now(), end.Add(time.Hour), time.UnixMilli(1)}
			var msgs []kafkalog.Message
			var want []string
			for i := range 120 {
				moment := start.Add(time.Duration(i) * time.Second)
				if i%30 == 5 {
					evil := eventOf("evil", moment)
					evil.Timestamp = kafkalog.At(stamps[i/30].UnixMilli())
					msgs = append(msgs, evil)
				}
				user := fmt.Sprint("u", i)
				msgs, want = append(msgs, eventOf(user, moment)), append(want, user)
			}
			appendEvents(t, cfg.Kafka.Brokers[0], msgs...)
			for name, o := range ranges {
				var got []string
				seen, err := ScanEvents(t.Context(), d, o, func(e *event.Event) error {
					got = append(got, string(e.User))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				got = slices.DeleteFunc(got, func(user string) bool { return user == "evil" })
				if !cmp.Equal(got, want) {
					t.Errorf("%s: %d of 120 events of others are taken: %+v", name, len(got), seen)
				}
			}
		})
	}
}

func TestScanEventsNamesTheRemedyForAMissingTopic(t *testing.T) {
	t.Parallel()
	d := mustCompile(t, deploytest.Config(deploytest.Start(t).Addr()))
	_, err := ScanEvents(t.Context(), d, ScanOptions{}, func(*event.Event) error { return nil })
	if !errors.Is(err, ErrUnknownTopic) || !strings.Contains(err.Error(), "or correct events.topic") {
		t.Errorf("error %v", err)
	}
}
