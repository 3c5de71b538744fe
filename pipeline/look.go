package pipeline

import (
	"context"
	"log/slog"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

type (
	// LookOptions say which events LookAtEvents reads: those of a range of times.
	LookOptions = reading.LookOptions
	// Looked counts what LookAtEvents has read.
	Looked = reading.Looked
)

// LookAtEvents reads the events topic once, up to where its partitions end now, and calls fn with
// every event in the range that a run would accept by the event's own times and the clock of the
// configuration. Event.Passes says which of Config.Events.Format.Filters it passes. No record
// decides whether another one is accepted. Use it for planning, on the trusted side: fn sees raw
// data. It changes nothing, and no deployment need have begun. It stops at an error of fn and
// returns it unchanged; other errors come from broker and registry.
func LookAtEvents(ctx context.Context, d *deployment.Deployment, o LookOptions, fn func(*event.Event) error) (Looked, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return Looked{}, err
	}
	defer client.Close()
	return reading.Look(ctx, d, client, o, fn)
}
