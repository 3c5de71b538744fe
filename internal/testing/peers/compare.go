package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// A series holds the results of one task, one result per round.
type series struct {
	task    task
	results []result
}

// perform runs every task once per round, in order, each in its own process.
func perform(ctx context.Context, o options, tasks []task) ([]series, error) {
	all := make([]series, len(tasks))
	for range o.rounds {
		for i, t := range tasks {
			r, err := do(ctx, t, o.broker, o.cpus)
			if err != nil {
				return nil, err
			}
			all[i].task, all[i].results = t, append(all[i].results, r)
		}
	}
	return all, nil
}

// sorted returns one figure of each round, in ascending order.
func sorted[T cmp.Ordered](s series, figure func(r result) T) []T {
	all := make([]T, len(s.results))
	for i, r := range s.results {
		all[i] = figure(r)
	}
	slices.Sort(all)
	return all
}

// median returns the middle one of the sorted figures, or the lower of the two in the middle.
func median[T any](sorted []T) T { return sorted[(len(sorted)-1)/2] }

// costHeadings returns the column headings of the figures that series.costs returns.
func costHeadings() []string {
	return []string{"wall s", "events/s", "CPU µs/event", "CPU from–to", "B allocated/event", "peak MB"}
}

func (s series) costs() []any {
	wall := median(sorted(s, func(r result) float64 { return r.Wall.Seconds() }))
	cpu := s.cpu()
	bytes := median(sorted(s, func(r result) float64 { _, b := s.task.perEvent(r); return b }))
	peaks := sorted(s, func(r result) uint64 { return r.Peak })
	return []any{
		wall, float64(s.task.Load.Events) / wall, median(cpu),
		digits(cpu[0]) + "–" + digits(cpu[len(cpu)-1]), bytes, int(peaks[len(peaks)-1] >> 20),
	}
}

func (s series) cpu() []float64 {
	return sorted(s, func(r result) float64 { cpu, _ := s.task.perEvent(r); return cpu })
}

// brokerPlaces maps each kind of broker to the place where it runs.
var brokerPlaces = map[string]string{
	"embedded": "an embedded broker in the process", "kafka": "Apache Kafka in another process",
}

func (o options) describe() string {
	return fmt.Sprintf("%d Avro events, %d users, %d keys, %d windows, %d shards, %d partitions, %s; GOMAXPROCS=%d; "+
		"medians of %d rounds; peak memory is the maximum",
		o.load.Events, o.load.Users, o.load.Keys, o.load.Windows, o.shards, o.partitions, brokerPlaces[o.broker],
		o.cpus, o.rounds)
}

func (o options) task(contestant string) task {
	return task{Contestant: contestant, Load: o.load, Partitions: o.partitions, Shards: o.shards}
}

func (o options) wants(name string) bool { return len(o.only) == 0 || slices.Contains(o.only, name) }

// compare measures the contestants in interleaved rounds.
func compare(ctx context.Context, o options) (table, error) {
	var tasks []task
	for _, name := range contestantNames() {
		if o.wants(name) {
			tasks = append(tasks, o.task(name))
		}
	}
	all, err := perform(ctx, o, tasks)
	if err != nil {
		return table{}, err
	}
	t := table{title: o.describe(), columns: append([]string{"contestant"}, costHeadings()...)}
	ours := slices.IndexFunc(tasks, func(t task) bool { return t.Contestant == product })
	if ours >= 0 {
		t.columns = append(t.columns, "CPU / "+product+"'s")
	}
	t.columns = append(t.columns, "what it does")
	for _, s := range all {
		c, err := contestantOf(s.task.Contestant)
		if err != nil {
			return table{}, err
		}
		row := append([]any{c.name}, s.costs()...)
		if ours >= 0 {
			row = append(row, median(s.cpu())/median(all[ours].cpu()))
		}
		t.rows = append(t.rows, append(row, c.what))
	}
	return t, nil
}
