package initialise

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// startValue is the value of --start.
type startValue struct {
	text string // "now", "earliest" or ""
	at   command.TimeValue
}

func (v *startValue) String() string {
	if v.text != "" {
		return v.text
	}
	return v.at.String()
}

func (v *startValue) Type() string { return "now|earliest|time" }

func (v *startValue) Set(text string) error {
	if text == "now" || text == "earliest" {
		*v = startValue{text: text}
		return nil
	}
	at, err := command.ParseMoment(text, "now, earliest")
	*v = startValue{at: at}
	return err
}

// resolve turns the flag into a time.
func (v *startValue) resolve(ctx context.Context, cfg pipeline.Config, now func() time.Time) (time.Time, error) {
	switch v.text {
	case "now":
		return now(), nil
	case "earliest":
		return earliest(ctx, cfg)
	}
	return v.at.Moment(cfg.Time.WindowZone), nil
}

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
