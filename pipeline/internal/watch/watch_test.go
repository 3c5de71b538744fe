package watch

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A drain waits neither for ever for a partition that has no leader nor ends for a
// trouble that passes.
func TestRuleADrainIsNotHeldUpByOnePartition(t *testing.T) {
	t.Parallel()
	if most := stuckAfter + stuckAfter/20; most >= 10*time.Second { // stuckCall looks twenty times
		t.Errorf("a drain lasts for %v", most)
	}
	const limit = 400 * time.Millisecond
	begin := time.Now()
	stays := kafkalog.Trouble{Doing: "appending to topic \"ledger\" partition 3", Since: begin.Add(-time.Minute),
		Cause: errors.New("no leader")}
	if got := stuckCall(t.Context(), func() []kafkalog.Trouble {
		return []kafkalog.Trouble{stays}
	}, limit); got == nil || got.Doing != stays.Doing || time.Since(begin) < limit {
		t.Errorf("%+v after %v", got, time.Since(begin))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*limit)
	defer cancel()
	passes := func() []kafkalog.Trouble { // each is over soon
		return []kafkalog.Trouble{{Doing: "reading", Since: time.Now().Add(-limit / 2), Cause: errors.New("moved")}}
	}
	if got := stuckCall(ctx, passes, limit); got != nil {
		t.Errorf("%+v ended a drain", got)
	}
	drain, ended := make(chan struct{}), make(chan error, 1)
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{deploytest.Start(t).Addr()}}))
	defer client.Close()
	close(drain)
	Start(t.Context(), client, New(Rules{}, slog.New(slog.DiscardHandler)), drain, func(err error) {
		ended <- err
	}).Stop()
	if len(ended) > 0 {
		t.Errorf("a drain without troubles ended with %v", <-ended)
	}
	if !long.On() {
		return // the rest waits for seconds
	}
	const listOffsets, notLeader = 2, 6
	cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t")))
	defer cluster.Close()
	cluster.ControlKey(listOffsets, func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		answer := kmsg.NewPtrListOffsetsResponse()
		answer.SetVersion(r.GetVersion())
		partition := kmsg.NewListOffsetsResponseTopicPartition()
		partition.ErrorCode = notLeader
		answer.Topics = []kmsg.ListOffsetsResponseTopic{
			{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{partition}}}
		return answer, nil, true
	})
	stuck := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: cluster.ListenAddrs()}))
	defer stuck.Close()
	go func() { _, _ = stuck.Offsets(t.Context(), "t", 0) }() // until the client is closed
	begin = time.Now()
	w := Start(t.Context(), stuck, New(Rules{}, slog.New(slog.DiscardHandler)), drain, func(err error) { ended <- err })
	defer w.Stop()
	select {
	case err := <-ended:
		if took := time.Since(begin); !errors.Is(err, deployment.ErrStuck) || took < stuckAfter {
			t.Errorf("a drain with a partition without a leader ended after %v with %v", took, err)
		}
	case <-time.After(time.Minute):
		t.Error("a drain waits for a partition without a leader")
	}
}

// The error of a run names the brokers that are away, once.
func TestTheEndNamesTheBrokersThatAreAway(t *testing.T) {
	dir := t.TempDir()
	broker := must.Have(embedded.Start(embedded.Options{DataDir: dir}))
	addr := broker.Addr()
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}}))
	defer client.Close()
	failed := errors.New("reading control: giving up")
	if err := WithUnreachable(client, failed); err != failed || len(client.Away()) > 0 { //nolint:errorlint // the same
		t.Errorf("%v, away %v", err, client.Away())
	}
	broker.Close()
	begin := time.Now()
	for range 2 {
		if client.Ping(t.Context()) == nil {
			t.Fatal("a broker that is closed answers")
		}
	}
	err := WithUnreachable(client, failed)
	if want := "reading control: giving up; broker " + addr + " unreachable since "; !errors.Is(err, failed) ||
		!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("%v, want %q", err, want)
	}
	if away := client.Away(); len(away) != 1 || away[0].Since.Before(begin) || !away[0].Since.Before(away[0].TriedAt) {
		t.Errorf("%+v", away)
	}
	for _, as := range []error{nil, deployment.ErrNoBroker} {
		if err := WithUnreachable(client, as); err != as { //nolint:errorlint // the same
			t.Errorf("%v became %v", as, err)
		}
	}
	if broker, err = embedded.Start(embedded.Options{Addr: addr, DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	if err := client.Ping(t.Context()); err != nil || len(client.Away()) > 0 {
		t.Errorf("%v, away %v", err, client.Away())
	}
}
