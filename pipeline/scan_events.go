package pipeline

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

type (
	// ScanOptions say which events ScanEvents reads: those of a range of times.
	ScanOptions = reading.ScanOptions
	// ScanCounts counts what ScanEvents has read.
	ScanCounts = reading.ScanCounts
)

// ScanEvents reads the events topic once, up to where its partitions end now, and calls fn with
// every event in the range that a run would accept by the event's own times and the clock of the
// configuration. Event.Passes says which of Config.Events.Format.Filters it passes. No record
// decides whether another one is accepted. Use it for planning, on the trusted side: fn sees raw
// data. It changes nothing, and no deployment need have begun. It stops at an error of fn and
// returns it unchanged; other errors come from broker and registry.
func ScanEvents(ctx context.Context, d *deployment.Deployment, o ScanOptions, fn func(*event.Event) error) (ScanCounts, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return ScanCounts{}, err
	}
	defer client.Close()
	return reading.Scan(ctx, d, client, o, fn)
}
