package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// patienceVariable sets patience. It is shorter for mutants, because most of them hang.
const patienceVariable = "TOLLGATE_INTEGRATION_PATIENCE"

// patience limits every wait, so that a pipeline that hangs fails its test and not the whole suite.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv(patienceVariable)); err == nil {
		return d
	}
	return 60 * time.Second
}()

// patient returns a context that ends after patience, or with the test.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// deployment is a configuration with its topics on a broker.
type deployment struct {
	t          testing.TB
	config     pipeline.Config
	compiled   *pipeline.Deployment
	client     *kafkalog.Client
	partitions int
	clocked    bool          // a clock closed turns: only then may records be overtaken
	eventsGone bool          // some events were deleted: turns are audited from the ledger
	patience   time.Duration // limit of finish if it is longer than the usual one
	verified   *verified     // result of the last audit
	past       []generation  // before the present one
	refilled   bool          // topics are copies: their records have another producer than the run's
}

// incarnation is the same for all deployments: with the same configuration they draw the same
// noise.
var incarnation = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// settings is a change of a configuration before it is compiled.
type settings func(*pipeline.Config)

// newDeployment creates the topics and the HEADER of a configuration. Unless it is changed, it has
// two metrics with windows of 10 s, one with public and one with private keys.
func newDeployment(t testing.TB, broker, name string, partitions int, change ...settings) *deployment {
	t.Helper()
	return newDeploymentAt(t, broker, name, partitions, base, change...)
}

// newDeploymentAt is newDeployment with another start than base.
func newDeploymentAt(t testing.TB, broker, name string, partitions int, start time.Time,
	change ...settings) *deployment {
	t.Helper()
	runseed.Print(t)
	config := baseConfig(broker, name)
	for _, s := range change {
		s(&config)
	}
	d := attach(t, config)
	d.partitions = partitions
	ctx := patient(t)
	if err := pipeline.CreateTopics(ctx, d.compiled, pipeline.TopicOptions{EventPartitions: partitions,
		Replication: 1}); err != nil {
		t.Fatalf("creating topics: %v", err)
	}
	if err := pipeline.Init(ctx, d.compiled, pipeline.InitOptions{Incarnation: incarnation, Start: start}); err != nil {
		t.Fatalf("initialising: %v", err)
	}
	return d
}

// attach compiles a configuration and connects to its broker.
func attach(t testing.TB, config pipeline.Config) *deployment {
	t.Helper()
	compiled := must.Have(pipeline.Compile(config))
	client, err := kafkalog.Dial(context.Background(), kafkalog.Config{Brokers: config.Kafka.Brokers, ClientID: "tests",
		Logger: quiet()})
	if err != nil {
		t.Fatalf("dialling the broker: %v", err)
	}
	t.Cleanup(func() { client.Close() })
	return &deployment{t: t, config: config, compiled: compiled, client: client, partitions: 1}
}

func baseConfig(broker, name string) pipeline.Config {
	return pipeline.Config{
		Deployment: name,
		Kafka:      pipeline.Kafka{Brokers: []string{broker}},
		Events: pipeline.Events{Topic: name + "-events", Format: event.Format{
			Format: "jsonl", User: "user", Key: "page", Time: "ts", TimeUnit: "ms",
		}},
		Privacy: pipeline.Privacy{Epsilon: 40, Delta: 1e-4, Accountant: "gdp", Lasts: 200 * time.Second},
		Time: pipeline.Time{Trust: "producer", Lateness: 5 * time.Second, Skew: time.Minute,
			IdleGrace: 366 * 24 * time.Hour},
		Metrics: []pipeline.Metric{publicMetric("visits", 10*time.Second), privateMetric("pages", 10*time.Second)},
		Outputs: pipeline.Outputs{
			Counts: name + "-counts", Control: name + "-control", Ledger: name + "-ledger", DeadLetter: name + "-dead",
		},
		Keys: pipeline.SecretKeys{
			Noise:    noisereduction.NoiseKey{ID: "k1", Secret: secret.New([32]byte{1, 7, 9})},
			UserHash: secret.New([32]byte{2, 4, 8}),
		},
		Shards: 4, ReleaseShards: 1, LedgerSlots: 10,
	}
}

func publicMetric(name string, window time.Duration) pipeline.Metric {
	return pipeline.Metric{
		Name: name, Kind: "events", Window: window,
		Keys:           pipeline.Keys{Mode: "public", List: []string{"p00", "p01", "p02", "p03", "nobody"}},
		MaxKeysPerUser: 2, MaxEventsPerKey: 3,
		Ladder: pipeline.Ladder{Kind: string(noisereduction.Adaptive)},
		Target: noisereduction.Target{Relative: 0.1, Absolute: 7, Confidence: 0.95},
	}
}

func privateMetric(name string, window time.Duration) pipeline.Metric {
	m := publicMetric(name, window)
	m.Keys = pipeline.Keys{Mode: "private"}
	m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 1.5}
	return m
}

// load appends arrivals to the partitions of the events topic, one slice each.
func (d *deployment) load(perPartition [][]arrival) {
	d.t.Helper()
	for p, arrivals := range perPartition {
		d.append(int32(p), arrivals)
	}
}

// append adds arrivals to one partition of the events topic.
func (d *deployment) append(partition int32, arrivals []arrival) {
	d.t.Helper()
	messages := make([]kafkalog.Message, len(arrivals))
	for i, a := range arrivals {
		messages[i] = kafkalog.Message{Value: a.value, Timestamp: kafkalog.At(a.stamp)}
	}
	d.produce(partition, messages)
}

// produce adds messages to one partition of the events topic.
func (d *deployment) produce(partition int32, messages []kafkalog.Message) {
	d.t.Helper()
	if len(messages) == 0 {
		return
	}
	ctx := patient(d.t)
	producer := must.Have(d.client.NewProducer(ctx, d.config.Events.Topic, partition, ""))
	if _, err := producer.Append(ctx, messages); err != nil {
		d.t.Fatalf("appending events: %v", err)
	}
}

// runOptions are the options of a run and its hooks.
type runOptions struct {
	pipeline.RunOptions
	Hooks crashpoint.Hooks
}

// run runs the pipeline in this process over all records of the events topic.
func (d *deployment) run(change ...func(*runOptions)) pipeline.RunResult {
	d.t.Helper()
	result, err := d.tryRun(change...)
	if err != nil {
		d.t.Fatalf("running the pipeline: %v", err)
	}
	return result
}

func (d *deployment) tryRun(change ...func(*runOptions)) (pipeline.RunResult, error) {
	options := runOptions{RunOptions: pipeline.RunOptions{Bounded: true, Logger: quiet()}}
	for _, c := range change {
		c(&options)
	}
	ctx := patient(d.t)
	result, err := pipeline.Run(crashpoint.With(ctx, options.Hooks), d.compiled, options.RunOptions)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return result, fmt.Errorf("hanging for %v: %w", patience, err)
	}
	return result, err
}

// runTurns runs until so many more turns are settled, then drains; with 0 turns, it drains at once.
// It reports whether the run was drained before it ended by itself.
func (d *deployment) runTurns(turns int, change ...func(*runOptions)) (drained bool) {
	d.t.Helper()
	drain, asked := make(chan struct{}), make(chan struct{})
	if turns == 0 {
		close(drain)
	}
	return d.run(append(change, func(o *runOptions) {
		o.Drain = drain
		before, settling := o.Hooks.At, 0
		o.Hooks.At = func(point string, shard int) error {
			switch point {
			case crashpoint.DrainWritten:
				close(asked)
			case crashpoint.SettledWriting:
				if settling++; settling == turns { // DRAIN comes before this SETTLED: no turn follows
					close(drain)
					<-asked
				}
			}
			if before == nil {
				return nil
			}
			return before(point, shard)
		}
	})...).Drained
}

// drainAtRandom runs to the end of the events in many runs, each drained after least to most turns.
func (d *deployment) drainAtRandom(random *rand.Rand, least, most int, change ...func(*runOptions)) {
	d.t.Helper()
	for run := 0; d.runTurns(least+random.IntN(most-least+1), change...); run++ {
		must.Succeed(d.t, d.chargeable())
		if run > 200 {
			d.t.Fatal("draining makes no progress")
		}
	}
}

// job returns the job of a process that runs the deployment over all records.
func (d *deployment) job() job {
	return job{Config: newJobConfig(d.config), Bounded: true}
}

// records reads a partition from its first record to its end, or to an open transaction.
func (d *deployment) records(topic string, partition int32) []kafkalog.Record {
	d.t.Helper()
	ctx := patient(d.t)
	offsets, err := d.client.Offsets(ctx, topic, partition)
	if err != nil {
		d.t.Fatalf("asking for the offsets of %s/%d: %v", topic, partition, err)
	}
	var records []kafkalog.Record
	err = d.client.ReadRange(ctx, topic, partition, offsets.Start, offsets.LastStable, func(r kafkalog.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		d.t.Fatalf("reading %s/%d: %v", topic, partition, err)
	}
	return records
}

// events has the records of the events topic by partition, in the order of their offsets.
type events map[int32][]kafkalog.Record

// eventLog reads the events topic.
func (d *deployment) eventLog() events {
	d.t.Helper()
	log := events{}
	for p := range int32(d.partitions) {
		log[p] = d.records(d.config.Events.Topic, p)
	}
	return log
}

// generations returns the configurations of all generations, the present one first.
func (d *deployment) generations() []*pipeline.Deployment {
	all := []*pipeline.Deployment{d.compiled}
	for _, g := range d.past {
		all = append(all, g.compiled)
	}
	return all
}

// referenceConfig returns the configuration in the form of the audit, with earlier generations.
func (d *deployment) referenceConfig() *reference.Config {
	d.t.Helper()
	configs, _, err := must.Have(d.readTrusted()).Configs(d.t.Context(), d.generations())
	if err != nil {
		d.t.Fatalf("reading control: %v", err)
	}
	return &configs[len(configs)-1]
}
