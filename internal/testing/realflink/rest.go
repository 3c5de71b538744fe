package realflink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/process"
)

// Slots asks the JobManager how many slots there are, and how many of them are free. The slots of a
// killed TaskManager count until it misses its heartbeats.
func (c *Cluster) Slots(ctx context.Context) (total, free int, err error) {
	var overview struct {
		Total int `json:"slots-total"`
		Free  int `json:"slots-available"`
	}
	err = c.get(ctx, "/overview", &overview)
	return overview.Total, overview.Free, err
}

// Unfinished returns how many jobs have not ended.
func (c *Cluster) Unfinished(ctx context.Context) (n int, err error) {
	var all struct {
		Jobs []struct{ State string }
	}
	err = c.get(ctx, "/jobs/overview", &all)
	for _, job := range all.Jobs {
		switch job.State {
		case "FINISHED", "FAILED", "CANCELED", "SUSPENDED":
		default:
			n++
		}
	}
	return n, err
}

func (c *Cluster) awaitJobManager(ctx context.Context) error {
	return c.await(ctx, c.jobManager, "REST to respond", func(ctx context.Context) bool {
		_, _, err := c.Slots(ctx)
		return err == nil
	})
}

// awaitTaskManager waits until the JobManager lists a TaskManager with the id of its last start.
func (c *Cluster) awaitTaskManager(ctx context.Context, tm *node) error {
	type entry struct {
		ID    string `json:"id"`
		Slots int    `json:"slotsNumber"`
	}
	return c.await(ctx, tm, "the JobManager to list it", func(ctx context.Context) bool {
		var list struct {
			TaskManagers []entry `json:"taskmanagers"`
		}
		return c.get(ctx, "/taskmanagers", &list) == nil &&
			slices.ContainsFunc(list.TaskManagers, func(e entry) bool { return e.ID == tm.id() && e.Slots == c.slots })
	})
}

// await waits until a condition holds. It returns an error if the node ends first.
func (c *Cluster) await(ctx context.Context, n *node, what string, holds func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds(ctx) {
		var err error
		select {
		case <-tick.C:
			continue
		case <-n.Gone():
			err = errors.New("the process ended")
		case <-ctx.Done():
			err = ctx.Err()
		}
		return fmt.Errorf("waiting for %s of Flink, for %s: %w; its log:\n%s", n.id(), what, err,
			process.Tail(c.log(n)))
	}
	return nil
}

// get reads JSON from the REST interface. It keeps no connection, so no goroutine outlives it.
func (c *Cluster) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
	if err != nil {
		return fmt.Errorf("asking Flink for %s: %w", path, err)
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking Flink for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking Flink for %s: the response is %s", path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("reading Flink's response to %s: %w", path, err)
	}
	return nil
}
