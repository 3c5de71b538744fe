package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/pipelinetest"
)

// The smallest deployment: two hours with one event. Its noise hides it, and public keys are always
// released. With a real Kafka, Brokers is its address and the keys are 256 random bits each.
func ExampleRun() {
	ctx := context.Background()
	broker, stop, err := pipelinetest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	d, err := pipeline.Compile(pipeline.Config{
		Kafka: pipeline.Kafka{Brokers: []string{broker}},
		Events: pipeline.Events{Topic: "visits", Format: pipeline.Format{
			Format: "jsonl", User: "who", Key: "page", Time: "at", TimeUnit: "ms",
		}},
		Privacy: pipeline.Privacy{Epsilon: 1, Delta: 1e-6, Period: 24 * time.Hour},
		Time:    pipeline.Time{Trust: pipeline.TrustProducer}, // the embedded broker has no append times
		Metrics: []pipeline.Metric{{
			Name: "views", Window: time.Hour,
			Keys:   pipeline.Keys{List: []string{"/cart", "/home"}},
			Target: pipeline.Target{Absolute: 100},
		}},
		Keys: pipeline.SecretKeys{
			Noise:    pipeline.NoiseKey{ID: "2026-a", Secret: pipeline.Secret([32]byte{1})},
			UserHash: pipeline.Secret([32]byte{2}),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	if err := pipeline.CreateTopics(ctx, d, pipeline.TopicOptions{EventPartitions: 1}); err != nil {
		fmt.Println(err)
		return
	}
	if err := pipeline.Init(ctx, d, pipeline.InitOptions{Start: start}); err != nil {
		fmt.Println(err)
		return
	}
	at := start.Add(time.Minute)
	producer := kafka.Writer{Addr: kafka.TCP(broker), Topic: "visits"}
	err = producer.WriteMessages(ctx, kafka.Message{Time: at, // with TrustProducer, the time of the event
		Value: fmt.Appendf(nil, `{"who": "ada", "page": "/home", "at": %d}`, at.UnixMilli())})
	if err := errors.Join(err, producer.Close()); err != nil {
		fmt.Println(err)
		return
	}
	result, err := pipeline.Run(ctx, d, pipeline.RunOptions{Bounded: true, Until: start.Add(2 * time.Hour)})
	if err != nil {
		fmt.Println(err)
		return
	}
	releases, err := pipeline.ReadReleases(ctx, d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Settled, "turns settled")
	for _, r := range releases { // r.Value is in units of 2^-10 counts
		fmt.Println(time.UnixMilli(r.WindowStart).UTC().Format("15:04"), r.Key)
	}
	// Output:
	// 2 turns settled
	// 08:00 /cart
	// 08:00 /home
	// 09:00 /cart
	// 09:00 /home
}
