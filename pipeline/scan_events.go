package pipeline

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ScanOptions configure ScanEvents.
type ScanOptions struct {
	From, To time.Time // event times, [From, To); zero: no limit on that side
	Logger   *slog.Logger
	Progress func(read uint64) // called with the number of records read so far; may be nil
}

// ScanCounts counts scanned records by outcome. Broken includes BadValue: records with a bad value.
type ScanCounts struct{ Read, Broken, BadValue, Late, Future, Accepted uint64 }

// ScanEvents reads the events topic up to its current end. It calls fn for every event in the range
// that a run would accept if the topic contained no other record. Event.Passes shows which of
// Config.Events.Format.Filters the event passes. Use ScanEvents for planning, on the trusted side:
// fn receives raw data. ScanEvents changes nothing and does not need a HEADER. It returns an error
// of fn at once and unchanged; other errors are from the broker and the registry.
func ScanEvents(ctx context.Context, d *deployment.Deployment, o ScanOptions, fn func(*event.Event) error) (ScanCounts,
	error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return ScanCounts{}, err
	}
	defer client.Close()
	counts, err := reading.Scan(ctx, d, client, reading.ScanOptions(o), fn)
	return ScanCounts(counts), err
}
