package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/handout"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Options of a run.
type Options struct {
	Logger   *slog.Logger
	Drain    <-chan struct{} // when closed, ends the run after the open turn
	OnLoaded func()          // called when every record is on the broker
	// OnTurn receives the releases of each turn, in order and never concurrently, while the run
	// continues. Run waits for the last call before it returns; after Drain it waits only briefly
	// and returns an error if the call hangs. An error of OnTurn ends the run.
	OnTurn func(Turn) error
}

// Turn is a turn with its releases, ordered by metric and key.
type Turn struct {
	Number   uint64
	End      time.Time // end of its window
	Releases []schemas.Release
}

// Result of a run.
type Result struct {
	Turns   uint64 // settled turns
	Drained bool   // ended by Options.Drain
	Loaded  uint64 // records of the source
	Tallies pipeline.Tallies
}

// Run loads the source into an embedded broker, runs the pipeline to the end of the source's range
// and hands out the releases. The source must have a range.
func Run(ctx context.Context, s Settings, source Source, secrets Secrets, opt Options) (Result, error) {
	from, to := source.Range()
	broker, kafka, err := startBroker(opt.Logger)
	if err != nil {
		return Result{}, err
	}
	defer broker.Close()
	d, err := pipeline.Compile(s.config(kafka, source, secrets))
	if err != nil {
		return Result{}, err
	}
	if err := pipeline.CreateTopics(ctx, d, pipeline.TopicOptions{EventPartitions: source.Traits().Partitions,
		Replication: 1}); err != nil {
		return Result{}, err
	}
	loaded, err := load(ctx, kafka, source, opt.Drain)
	switch {
	case errors.Is(err, errDrained):
		return Result{Drained: true}, nil
	case err != nil:
		return Result{}, err
	}
	if opt.OnLoaded != nil {
		opt.OnLoaded()
	}
	if err := pipeline.Init(ctx, d, pipeline.InitOptions{Incarnation: secrets.Incarnation, Start: from}); err != nil {
		return Result{}, err
	}
	result, err := run(ctx, d, to, opt)
	result.Loaded = loaded
	return result, err
}

// startBroker starts a broker with a password known to this process only: every user of the machine
// can reach its port.
func startBroker(logger *slog.Logger) (*embedded.Broker, pipeline.Kafka, error) {
	password := secret.New(rand.Text())
	broker, err := embedded.Start(embedded.Options{Password: password, Logger: logger})
	if err != nil {
		return nil, pipeline.Kafka{}, err
	}
	return broker, pipeline.Kafka{
		Brokers: []string{broker.Addr()},
		SASL:    &pipeline.SASL{Mechanism: "scram-sha-256", User: embedded.User, Password: password},
	}, nil
}

func run(ctx context.Context, d *pipeline.Deployment, to time.Time, opt Options) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// If OnTurn fails, the run is drained, not cancelled: Beam's worker may send on a closed
	// channel if it is cancelled during a bundle.
	drain := make(chan struct{})
	halt := sync.OnceFunc(func() { close(drain) })
	go func() {
		select {
		case <-opt.Drain:
			halt()
		case <-ctx.Done():
		}
	}()
	out := handout.New(0)
	out.Start(ctx, handout.Options{
		Follow: func(ctx context.Context, fn func(pipeline.Published) error) error {
			return pipeline.FollowReleases(ctx, d, pipeline.FollowOptions{From: &pipeline.Position{}}, fn)
		},
		OnTurn: func(p pipeline.Published) error {
			if opt.OnTurn == nil {
				return nil
			}
			return opt.OnTurn(Turn{Number: p.Turn, End: p.End, Releases: p.Releases})
		},
		OnError: func(error) { halt() },
	})
	defer func() {
		stop()
		out.Leave()
	}()
	done, err := pipeline.Run(ctx, d, pipeline.RunOptions{Logger: opt.Logger, Bounded: true, Until: to, Drain: drain,
		Disposable: true})
	rest := context.WithoutCancel(ctx)
	switch {
	case err != nil:
		if failed := out.Err(); failed != nil {
			err = failed
		}
		return Result{}, err
	case done.Superseded:
		return Result{}, errors.New("another run took over the embedded broker")
	}
	if err := out.Wait(done.Settled, 0, opt.Drain); err != nil {
		return Result{}, err
	}
	report, err := pipeline.TrustedReport(rest, d)
	if err != nil {
		return Result{}, err
	}
	return Result{Turns: done.Settled, Drained: done.Drained, Tallies: report}, nil
}
