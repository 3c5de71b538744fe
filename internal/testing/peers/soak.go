package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// soakOptions are the flags of soak alone.
type soakOptions struct {
	lasts  time.Duration
	rate   int // events a second
	window time.Duration
	report time.Duration // of a row of the table
}

func (s *soakOptions) addFlags(set *flag.FlagSet) {
	set.DurationVar(&s.lasts, "for", 30*time.Minute, "how long: Kafka writes some 100 B an event to the directory of temporary files,\nthe embedded broker keeps them in memory")
	set.IntVar(&s.rate, "rate", 50_000, "events a second")
	set.DurationVar(&s.window, "window", 10*time.Second, "size of the windows")
	set.DurationVar(&s.report, "report", 5*time.Minute, "time of a row of the table")
}

// A row of the table, while it is under way.
type interval struct {
	events    int
	cpu       time.Duration // of the client
	memory    uint64        // most that was resident, bytes
	latencies []time.Duration
}

type soaking struct {
	options
	deployment *pipeline.Deployment
	client     *liveProcess
	began      time.Time

	mu   sync.Mutex
	rows []interval
}

// tick is how often events are appended.
const tick = 20 * time.Millisecond

// soak runs the product in a process of its own on events that happen now, and reads its counts as
// a consumer does.
func soak(ctx context.Context, o options) (_ table, err error) {
	addr, stop, err := startBroker(ctx, o.broker)
	if err != nil {
		return table{}, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	job := liveTask{Task: o.task(product), Window: o.soak.window, Windows: o.soak.windows(), AppendTimes: o.broker == "kafka"}
	job.Task.Broker = addr
	d, err := job.deployment()
	if err != nil {
		return table{}, err
	}
	if err := pipeline.CreateTopics(ctx, d, pipeline.TopicOptions{EventPartitions: o.partitions}); err != nil {
		return table{}, err
	}
	if err := pipeline.Init(ctx, d, pipeline.InitOptions{}); err != nil {
		return table{}, err
	}
	client, err := startLive(ctx, job, o.cpus)
	if err != nil {
		return table{}, err
	}
	s := &soaking{options: o, deployment: d, client: client, rows: make([]interval, o.soak.rows())}
	err = s.produceAndFollow(ctx)
	if err = errors.Join(err, client.drain()); err != nil {
		return table{}, err
	}
	return s.table()
}

// windows is how many windows a soak has, with those at its ends.
func (s soakOptions) windows() int { return int(s.lasts/s.window) + 2 }

func (s soakOptions) rows() int { return int((s.lasts + s.report - 1) / s.report) }

func (s *soaking) row(at time.Time) *interval {
	i := int(at.Sub(s.began) / s.soak.report)
	return &s.rows[min(max(i, 0), len(s.rows)-1)]
}

// produceAndFollow appends events and takes values for as long as the soak lasts.
func (s *soaking) produceAndFollow(outer context.Context) error {
	s.began = time.Now()
	ctx, cancel := context.WithTimeout(outer, s.soak.lasts)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.produce(ctx) })
	g.Go(func() error { return s.watch(ctx) })
	g.Go(func() error {
		return pipeline.FollowReleases(ctx, s.deployment, pipeline.FollowOptions{From: &pipeline.Position{}}, s.take)
	})
	g.Go(func() error {
		select {
		case <-s.client.gone:
			return errors.New("the run ended by itself")
		case <-ctx.Done():
			return nil
		}
	})
	return cmp.Or(g.Wait(), outer.Err())
}

// produce appends what is due, at the rate asked for: after a delay more at once.
func (s *soaking) produce(ctx context.Context) error {
	p, err := newProducers(ctx, s.deployment, s.partitions)
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer p.close()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for sent := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		now := time.Now()
		due := min(int(now.Sub(s.began).Seconds()*float64(s.soak.rate)), sent+appended)
		millis := now.UnixMilli()
		if err := p.append(ctx, s.load, sent, due, func(int) int64 { return millis }); err != nil {
			return unlessOver(ctx, err)
		}
		s.mu.Lock()
		s.row(now).events += due - sent
		s.mu.Unlock()
		sent = due
	}
}

// unlessOver drops the error of a call that the end of the soak cut short.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watch looks at the client's memory and CPU time once a second.
func (s *soaking) watch(ctx context.Context) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	var before time.Duration
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticks.C:
			resident, err := memory(s.client.pid, "VmRSS")
			if err != nil {
				return unlessOver(ctx, err)
			}
			cpu, err := cpuOf(s.client.pid)
			if err != nil {
				return unlessOver(ctx, err)
			}
			s.mu.Lock()
			row := s.row(now)
			row.memory, row.cpu = max(row.memory, resident), row.cpu+cpu-before
			s.mu.Unlock()
			before = cpu
		}
	}
}

// take notes how long after its end the values of a window could be read.
func (s *soaking) take(p pipeline.Published) error {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := map[int64]bool{}
	for _, r := range p.Releases {
		if !ends[r.WindowEnd] {
			ends[r.WindowEnd] = true
			row := s.row(now)
			row.latencies = append(row.latencies, now.Sub(time.UnixMilli(r.WindowEnd)))
		}
	}
	return nil
}

// table shows the rows. Without any values there is nothing to show, which is an error.
func (s *soaking) table() (table, error) {
	wait := "lateness and slack of 1 s each, which every window waits for"
	if s.broker != "kafka" {
		wait = "lateness of 1 s, which every window waits for"
	}
	t := table{
		title: fmt.Sprintf("%d events/s, %d users, %d keys, windows of %v, %d shards, %d partitions, %s; GOMAXPROCS=%d; latency: from a window's end until its values were read, with %s",
			s.soak.rate, s.load.Users, s.load.Keys, s.soak.window, s.shards, s.partitions, where[s.broker], s.cpus, wait),
		columns: []string{"time", "events", "windows", "latency p50 s", "p99 s", "longest s", "CPU µs/event", "resident MB at most"},
	}
	windows := 0
	for i, row := range s.rows {
		windows += len(row.latencies)
		slices.Sort(row.latencies)
		from := time.Duration(i) * s.soak.report
		t.rows = append(t.rows, []any{
			fmt.Sprintf("%v–%v", from, min(from+s.soak.report, s.soak.lasts)), row.events, len(row.latencies),
			quantile(row.latencies, 0.5), quantile(row.latencies, 0.99), quantile(row.latencies, 1),
			float64(row.cpu.Nanoseconds()) / 1000 / float64(max(row.events, 1)), int(row.memory >> 20),
		})
	}
	if windows == 0 {
		return t, errors.New("no values came")
	}
	return t, nil
}

// quantile returns the least of sorted latencies, in seconds, that a share q of them does not pass.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)].Seconds()
}
