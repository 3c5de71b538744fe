package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
)

// elections is a broker whose leaders can be changed.
type elections struct {
	*kfake.Cluster
	t      *testing.T
	client *kafkalog.Client
}

func startElections(t *testing.T) *elections {
	t.Helper()
	cluster := must.Have(kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"})))
	t.Cleanup(cluster.Close)
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: cluster.ListenAddrs()}))
	t.Cleanup(client.Close)
	return &elections{cluster, t, client}
}

// history makes a topic anew: counts of records, one leader epoch after the other.
func (e *elections) history(topic string, records ...int) {
	e.t.Helper()
	_ = e.DeleteTopic(topic) // it may not be there yet
	must.Succeed(e.t, e.CreateTopic(topic, 1, map[string]string{"retention.ms": "-1"}))
	for i, n := range records {
		if i > 0 {
			e.ShufflePartitionLeaders()
		}
		e.write(topic, n)
	}
}

// elsewhere gives topics and the cluster the ids that they have on another cluster, whatever
// becomes of the topics.
func (e *elections) elsewhere() {
	e.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		e.KeepControl()
		res := req.ResponseKind().(*kmsg.MetadataResponse)
		res.ClusterID, res.Topics = kmsg.StringPtr("other"), []kmsg.MetadataResponseTopic{{TopicID: [16]byte{1}}}
		return res, nil, req.GetVersion() >= 10
	})
}

func (e *elections) write(topic string, n int) {
	e.t.Helper()
	if n == 0 {
		return
	}
	appendTo(e.t, e.client, topic, 0, eventsAt(time.Unix(60, 0), n)...)
}

// eventsAt are events of as many users, a second apart. (A record of time 0 would get the present
// time.)
func eventsAt(start time.Time, n int) []kafkalog.Message { return eventsEvery(time.Second, start, n) }

func eventsEvery(pause time.Duration, start time.Time, n int) (msgs []kafkalog.Message) {
	for i := range n {
		msgs = append(msgs, eventOf(fmt.Sprint("u", i), start.Add(time.Duration(i)*pause)))
	}
	return msgs
}

func eventOf(user string, t time.Time) kafkalog.Message {
	value := fmt.Appendf(nil, `{"user":%q,"key":"a","time":%d}`, user, t.UnixMilli())
	return kafkalog.Message{Value: value, Timestamp: kafkalog.At(t.UnixMilli())}
}

// abort writes n records in a transaction that is aborted: they and the marker occupy offsets, and
// READ sees none of them.
func (e *elections) abort(topic string, n int) {
	e.t.Helper()
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(e.ListenAddrs()...), kgo.TransactionalID("t"),
		kgo.DefaultProduceTopic(topic)))
	defer client.Close()
	must.Succeed(e.t, client.BeginTransaction())
	for range n {
		must.Succeed(e.t, client.ProduceSync(e.t.Context(), &kgo.Record{Value: []byte("x")}).FirstErr())
	}
	must.Succeed(e.t, client.EndTransaction(e.t.Context(), kgo.TryAbort))
}

// At a restart the leader epoch of the last cut must still lead up to the cut: records that were
// lost and replaced at the same offsets are recognised, whatever their number.
func TestReplacedRecordsBelowTheLastCutAreRecognised(t *testing.T) {
	t.Parallel()
	e := startElections(t)
	for _, tt := range []struct {
		name    string
		records []int // by epoch
		more    func()
		cut     int64
		epoch   int32
		says    string
	}{
		{name: "as it was read", records: []int{5}, cut: 5},
		{name: "more was written since", records: []int{5, 3, 0, 2}, cut: 5},
		{name: "the cut of a middle leader", records: []int{5, 3, 0, 2}, cut: 8, epoch: 1},
		{name: "an election since, and nothing written", records: []int{2, 3, 0}, cut: 5, epoch: 1},
		{name: "nothing was read", records: []int{5}, cut: 0, epoch: 9},
		{name: "the epoch is not known", records: []int{5, 5}, cut: 9, epoch: -1},
		{name: "what later leaders wrote below the cut was aborted", records: []int{5, 0}, more: func() {
			e.abort("events", 3)
		}, cut: 9},
		{name: "everything below the cut is past its retention", records: []int{5, 5}, more: func() {
			_ = e.DeleteRecords("events", 0, 10)
		}, cut: 9, epoch: 1},
		{name: "the log is shorter", records: []int{5}, cut: 6, says: "it ends at offset 5 but was read up to 6"},
		{name: "a later leader's records stand below the cut", records: []int{3, 3, 5}, cut: 8, epoch: 1,
			says: "leader epoch 1 ended at offset 6, but its records were read up to 8"},
		{name: "the epoch has left nothing", records: []int{3, 0, 5}, cut: 8, epoch: 1,
			says: "leader epoch 1 wrote its records, but the partition has no record of that epoch"},
		{name: "made anew", records: []int{8}, cut: 8, epoch: 3, says: "its records were read from leader epoch 3, " +
			"but the partition is at epoch 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e.history("events", tt.records...)
			if tt.more != nil {
				tt.more()
			}
			c := &controllog.Closing{Close: schemas.Close{Turn: 7,
				Cuts: []schemas.Cut{{Cut: tt.cut, LeaderEpoch: tt.epoch}}}}
			err := reading.CheckSameRecords(t.Context(), e.client, "events", c)
			if tt.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(),
				"comparing partition 0 of events with the CLOSE of turn 7: "+tt.says+"; records that were read before "+
					"are gone") {
				t.Errorf("%v\ndoes not say\n%s", err, tt.says)
			}
		})
	}
	if err := reading.CheckSameRecords(t.Context(), e.client, "events", nil); err != nil {
		t.Errorf("without a CLOSE: %v", err)
	}
}

// The check works in a whole run: CLOSE keeps the epoch of the records read, and a start compares
// it.
func TestARunOverReplacedRecordsStopsAtItsStart(t *testing.T) {
	t.Parallel()
	e := startElections(t)
	cfg := deploytest.Config(e.ListenAddrs()[0])
	d := makeTopics(t, cfg, nil)
	must.Succeed(t, Init(t.Context(), d, InitOptions{Start: time.Unix(60, 0)}))
	e.elsewhere()
	e.history("events", 100, 50)
	run := func() error {
		_, err := Run(t.Context(), d, RunOptions{Bounded: true})
		return err
	}
	must.Succeed(t, run())
	e.ShufflePartitionLeaders()
	if err := run(); err != nil {
		t.Fatalf("after an election that lost nothing: %v", err)
	}
	e.history("events", 100, 20, 30, 10)
	err := run()
	if !errors.Is(err, deployment.ErrLogFault) || !strings.Contains(err.Error(), "leader epoch 1 ended at offset 120, "+
		"but its records were read up to 150") {
		t.Fatalf("after an election that lost records: %v", err)
	}
	e.history("events", 100, 50, 30)
	if err := run(); err != nil {
		t.Fatalf("after the records came back: %v", err)
	}
}
