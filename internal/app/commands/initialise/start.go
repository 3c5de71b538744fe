package initialise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// earliest returns the least timestamp of the first records of the events topic's partitions.
func earliest(ctx context.Context, cfg pipeline.Config) (time.Time, error) {
	client, err := connect.Dial(ctx, cfg.Kafka, nil)
	if err != nil {
		return time.Time{}, err
	}
	defer client.Close()
	millis, found, err := client.FirstTime(ctx, cfg.Events.Topic)
	if err == nil && !found {
		err = errors.New("the topic is empty: give --start now, or a time")
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the first record of topic %s: %w", cfg.Events.Topic, err)
	}
	return time.UnixMilli(millis).UTC(), nil
}
