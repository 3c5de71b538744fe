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

// ScanOptions select the events that ScanEvents reads, by a range of times.
type ScanOptions struct {
	From, To time.Time // event times, [From, To); zero: no limit on that side
	Logger   *slog.Logger
	Progress func(read uint64) // called with the number of records read so far; may be nil
}

// ScanCounts counts the scanned records by outcome. Broken includes BadValue, records with an
// unreadable value.
type ScanCounts struct{ Read, Broken, BadValue, Late, Future, Accepted uint64 }

// ScanEvents reads the events topic up to its current end, and calls fn with every event in the
// range that a run would accept if there were no other record on the topic. Event.Passes marks the
// Config.Events.Format.Filters that the event passes. Use ScanEvents for planning, on the trusted
// side: fn sees raw data. It changes nothing and does not need a HEADER. It stops at an error of fn
// and returns it unchanged; other errors are those of the broker and the registry.
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
