package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// storedTopics has all topics of a deployment that an earlier build left in the middle of a turn of
// its second generation. docs/formats.md promises that later builds continue it.
const storedTopics = "testdata/topics.json.gz"

// storedPartition is one partition, with the offsets of its records.
type storedPartition struct {
	Topic     string
	Partition int32
	Records   []kafkalog.Record
}

// storedGenerations returns the configurations of the stored deployment. They must never change,
// because its HEADER and GENERATION name them.
func storedGenerations(broker string) (first, second pipeline.Config) {
	c := baseConfig(broker, "stored")
	c.Events.Format.Value = "amount"
	c.Privacy.Period, c.Privacy.Lasts = 40*time.Second, 0
	c.Shards, c.LedgerSlots = 2, 6
	metric := func(name, kind string, edit func(*pipeline.Metric)) pipeline.Metric {
		m := pipeline.Metric{
			Name: name, Kind: kind, Window: 10 * time.Second, MaxKeysPerUser: 2, MaxEventsPerKey: 3,
			Keys:   pipeline.Keys{Mode: "public", List: []string{"p00", "p01", "nobody"}},
			Ladder: pipeline.Ladder{Kind: string(noisereduction.Adaptive)},
			Target: noisereduction.Target{Relative: 0.3, Absolute: 4, Confidence: 0.95},
		}
		edit(&m)
		return m
	}
	from := pipeline.Keys{Mode: "from", From: "pages"}
	c.Metrics = []pipeline.Metric{
		metric("visits", "events", func(m *pipeline.Metric) { m.Counted = &pipeline.Counted{MaxEvents: 5} }),
		metric("pages", "events", func(m *pipeline.Metric) { m.Keys = pipeline.Keys{Mode: "private"} }),
		metric("people", "distinct_users", func(m *pipeline.Metric) {
			m.Window, m.Slide, m.MaxEventsPerKey = 20*time.Second, 10*time.Second, 1
		}),
		metric("spent", "sum", func(m *pipeline.Metric) {
			m.Keys, m.Min, m.Max = from, -5, 15
			m.Target = noisereduction.Target{Absolute: 30, Confidence: 0.95}
		}),
		metric("prices", "quantiles", func(m *pipeline.Metric) {
			m.Keys, m.Max, m.MaxEventsPerKey, m.Ranks, m.Also = from, 100, 2, []float64{0.5, 0.9}, []string{"mean"}
			m.Target, m.Noise = noisereduction.Target{Absolute: 0.2, Confidence: 0.9}, 10
		}),
	}
	next := c
	next.Metrics = slices.Clone(c.Metrics[:4])
	next.Metrics[0].MaxKeysPerUser = 1
	next.Keys.Noise = noisereduction.NoiseKey{ID: "k2", Secret: secret.New([32]byte{8, 8, 8})}
	next.Keys.UserHash, next.Outputs.Ledger = secret.New([32]byte{5, 5, 5}), "stored-ledger-2"
	return c, next
}

// storeTopics runs the deployment and writes its topics to the file.
func storeTopics(t *testing.T) {
	broker := startEmbedded(t)
	first, second := storedGenerations(broker)
	d := newDeployment(t, broker, "stored", 2, func(c *pipeline.Config) { *c = first })
	w := shoppers(4307)
	w.Users, w.Windows, w.Events = 15, 14, 60
	d.load(scatter(w.arrivals(), 2, 1))
	d.run(func(o *runOptions) { o.Until, o.Bounded = base.Add(80*time.Second).Truncate(40*time.Second), false })
	d.change(func(c *pipeline.Config) { *c = second })
	d.runTurns(3)
	if _, err := d.tryRun(diesAt(crashpoint.CountsWritten)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	var all []storedPartition
	for _, topic := range []string{first.Events.Topic, first.Outputs.Control, first.Outputs.Ledger,
		second.Outputs.Ledger, first.Outputs.Counts, first.Outputs.DeadLetter, d.compiled.Config.Outputs.Turns} {
		for _, p := range must.Have(d.client.Partitions(t.Context(), topic)) {
			records := d.records(topic, p)
			for i := range records {
				control, err := schemas.DecodeControl(records[i].Value)
				if epoch, is := control.Body.(*schemas.Epoch); err == nil && is {
					epoch.Host, epoch.Cluster, epoch.EventsID = "host", "", [16]byte{}
					records[i].Value = must.Have(schemas.EncodeControl(control))
				}
			}
			all = append(all, storedPartition{topic, p, records})
		}
	}
	var out bytes.Buffer
	packed := must.Have(gzip.NewWriterLevel(&out, gzip.BestCompression))
	must.Succeed(t, json.NewEncoder(packed).Encode(all))
	must.Succeed(t, packed.Close())
	must.Succeed(t, os.WriteFile(storedTopics, out.Bytes(), 0o644))
}

// restore copies the stored topics, edited, to a new broker.
func restore(t *testing.T, edit func(topic string, records []kafkalog.Record)) *deployment {
	t.Helper()
	first, second := storedGenerations(startEmbedded(t))
	d := attach(t, second)
	d.past = []generation{{first, must.Have(pipeline.Compile(first))}}
	file := must.Have(os.Open(storedTopics))
	defer file.Close()
	var all []storedPartition
	must.Succeed(t, json.NewDecoder(must.Have(gzip.NewReader(file))).Decode(&all))
	for _, g := range []*pipeline.Deployment{d.past[0].compiled, d.compiled} {
		err := pipeline.CreateTopics(t.Context(), g, pipeline.TopicOptions{EventPartitions: 2, Replication: 1})
		if err != nil && !errors.Is(err, pipeline.ErrTopicExists) {
			t.Fatal(err)
		}
	}
	d.partitions, d.refilled = 2, true
	for _, p := range all {
		edit(p.Topic, p.Records)
		d.refill(p)
	}
	return d
}

// refill appends records at their offsets, with markers in the gaps, which were markers before.
func (d *deployment) refill(stored storedPartition) {
	d.t.Helper()
	ctx, next := d.t.Context(), int64(0)
	p := must.Have(d.client.NewProducer(ctx, stored.Topic, stored.Partition, "refill-"+stored.Topic))
	defer p.Close()
	for _, r := range stored.Records {
		for next < r.Offset {
			next = must.Have(p.Fence(ctx)) + 1
		}
		offset := must.Have(p.Append(ctx, []kafkalog.Message{{Key: r.Key, Value: r.Value, Headers: r.Headers,
			Timestamp: kafkalog.At(r.Timestamp)}}))
		if offset != r.Offset {
			d.t.Fatalf("%s: offset %d became %d", stored.Topic, r.Offset, offset)
		}
		next = offset + 1
	}
}

// A deployment of an earlier build continues: all its values and charges, before and after, equal
// those that the reference computes from the beginning.
func TestRuleAStoredDeploymentGoesOn(t *testing.T) {
	if golden.Updating() {
		storeTopics(t)
	}
	d := restore(t, func(string, []kafkalog.Record) {})
	before := len(d.records(d.config.Outputs.Counts, 0))
	d.run()
	d.verify()
	if after := len(d.records(d.config.Outputs.Counts, 0)); before == 0 || after <= before {
		t.Errorf("%d values, and %d before", after, before)
	}
}

// A build that does not know a format version fails with an error and writes nothing.
func TestRuleAnotherVersionOnATopicIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	for _, topic := range []string{"stored-control", "stored-ledger-2"} {
		d := restore(t, func(edited string, records []kafkalog.Record) {
			if edited == topic {
				records[len(records)-1].Value[3]++
			}
		})
		before := len(d.records(d.config.Outputs.Counts, 0))
		_, err := d.tryRun()
		if !errors.Is(err, schemas.ErrVersion) || !strings.Contains(err.Error(), "use the version of tollgate that "+
			"wrote it") {
			t.Errorf("%s: %v", topic, err)
		}
		if after := len(d.records(d.config.Outputs.Counts, 0)); after != before {
			t.Errorf("%s: %d values became %d", topic, before, after)
		}
	}
}
