package main

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/testing/workload"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// tollgate is a run of Tollgate from the events topic to the counts topic.
type tollgate struct {
	*topics
	windows int
}

func prepareProduct(ctx context.Context, t task) (entrant, error) {
	all, err := loaded(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := pipeline.Init(ctx, all.deployment,
		pipeline.InitOptions{Start: workload.Start(), Incarnation: [16]byte{1}}); err != nil {
		all.close()
		return nil, err
	}
	return &tollgate{all, t.Load.Windows}, nil
}

func (p *tollgate) run(ctx context.Context) error {
	r, err := pipeline.Run(ctx, p.deployment, pipeline.RunOptions{Bounded: true})
	if err == nil && r.Settled != uint64(p.windows) {
		return fmt.Errorf("%d windows were settled, want %d", r.Settled, p.windows)
	}
	return err
}

func (p *tollgate) counts(ctx context.Context) (all []count, _ error) {
	releases, err := pipeline.ReadReleases(ctx, p.deployment)
	for _, r := range releases {
		all = append(all, count{workload.WindowOf(r.WindowStart), r.Key, r.Count(), r.StdDev})
	}
	return all, err
}
