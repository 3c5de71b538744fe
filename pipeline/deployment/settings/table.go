package settings

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Table returns the fields of a configuration file. All callers share the returned slice.
func Table() []Field { return table() }

var table = sync.OnceValue(func() []Field {
	all := []Field{
		{Name: "deployment", Path: "Deployment", Kind: Text, Default: "tollgate", Change: never},
		{Name: "kafka", Path: "Kafka", Kind: Object, Required: true, Fields: kafkaFields()},
		{Name: "events", Path: "Events", Kind: Object, Required: true, Fields: eventsFields()},
		{Name: "privacy", Path: "Privacy", Kind: Object, Required: true, Fields: privacyFields()},
		{Name: "time", Path: "Time", Kind: Object, Fields: timeFields()},
		{Name: "metrics", Path: "Metrics", Kind: Objects, Required: true, Change: byChange, Fields: metricFields()},
		{Name: "outputs", Path: "Outputs", Kind: Object, Fields: outputFields()},
		{Name: "keys", Path: "Keys", Kind: Object, Required: true, Fields: keyFields()},
		{Name: "shards", Path: "Shards", Kind: Integer, In: within(1, 4096), Default: "16", Change: byChange},
		{Name: "release_shards", Path: "ReleaseShards", Kind: Integer, In: within(1, 4096), Default: "1",
			Change: byChange},
		{Name: "ledger_slots", Path: "LedgerSlots", Kind: Integer, In: atLeast(4), Example: "64",
			Change: byChange,
			Absent: fmt.Sprintf("%d, or a quarter of the turns in the longest window if that is more, up to %d",
				FewSlots, ManySlots)},
	}
	explain(all, "", meanings())
	return all
})

func privacyFields() []Field {
	return []Field{
		{Name: "epsilon", Path: "Privacy.Epsilon", Kind: Number, In: above(0), Required: true, Example: "1",
			Change: downwards},
		{Name: "delta", Path: "Privacy.Delta", Kind: Number, In: between(0, 1), Required: true, Example: "1e-6",
			Change: downwards},
		{Name: "delta_keys", Path: "Privacy.DeltaKeys", Kind: Number, In: below(0, 1), Example: "1e-7",
			Absent: "a tenth of `delta` if a metric has private keys, else 0", Change: downwards},
		{Name: "accountant", Path: "Privacy.Accountant", Kind: Text, OneOf: budgets.AccountantNames(),
			LegacyValues: []string{string(budgets.RDP)}, Default: string(budgets.GDP), Change: never},
		{Name: "period", Path: "Privacy.Period", Kind: Duration, In: atLeast(float64(time.Millisecond)), Example: "30d",
			Absent: "one budget for life, which `lasts` pays out", Change: never},
		{Name: "lasts", Path: "Privacy.Lasts", Kind: Duration, In: atLeast(float64(time.Millisecond)), Example: "365d",
			Absent: "needed without `period`", Change: byChange},
		{Name: "planned", Path: "Privacy.Planned", Kind: Number, In: below(0, 1), Default: "0", Example: "0.05",
			Change: never},
	}
}

func timeFields() []Field {
	year := float64(366 * 24 * time.Hour)
	milli := float64(time.Millisecond)
	return []Field{
		{Name: "trust", Path: "Time.Trust", Kind: Text, OneOf: []string{"broker", "producer"}, Default: "broker",
			Change: never},
		{Name: "lateness", Path: "Time.Lateness", Kind: Duration, In: within(0, year), Default: "0s", Example: "2m",
			Change: byChange},
		{Name: "skew", Path: "Time.Skew", Kind: Duration, In: within(0, year), Default: "0s", Example: "1s",
			Change: byChange},
		{Name: "slack", Path: "Time.Slack", Kind: Duration, In: within(milli, year), Example: "5s",
			Absent: timespan.Text(DefaultSlack) + " with `trust: broker`", Change: byChange},
		{Name: "idle_grace", Path: "Time.IdleGrace", Kind: Duration, In: within(milli, year), Default: "1m"},
		{Name: "window_zone", Path: "Time.WindowZone", Kind: Text, Example: "Europe/Zurich", Absent: "UTC",
			Change: never},
		{Name: "no_future", Path: "Time.AcceptFuture", Kind: Boolean, Default: "false", Change: never},
	}
}

func outputFields() []Field {
	topic := func(name, path string, change Change) Field {
		defaultName := "`<deployment>-" + strings.ReplaceAll(name, "_", "-") + "`"
		return Field{Name: name, Path: path, Kind: Text, Absent: defaultName, Change: change}
	}
	return []Field{
		topic("counts", "Outputs.Counts", byChange),
		topic("control", "Outputs.Control", never),
		topic("ledger", "Outputs.Ledger", byChange),
		topic("dead_letter", "Outputs.DeadLetter", byChange),
		topic("turns", "Outputs.Turns", byChange),
		{Name: "counts_format", Path: "Outputs.CountsFormat", Kind: Text, OneOf: schemas.CountsFormats(),
			Absent: string(schemas.CountsAvro) + " if a registry is configured, else " + string(schemas.CountsJSON),
			Change: byChange},
		{Name: "registry", Path: "Outputs.Registry", Kind: Object, Absent: "`events.registry`", Optional: true,
			Fields: registryFields("Outputs.Registry.", "")},
		{Name: "publish_every", Path: "Outputs.PublishEvery", Kind: Duration,
			In: within(float64(time.Millisecond), float64(time.Hour)), Example: "1m", Absent: "at once"},
	}
}

func keyFields() []Field {
	source := func() []Field {
		return []Field{{Name: "file", Kind: File, Absent: "`env`"}, {Name: "env", Kind: Text, Absent: "`file`"}}
	}
	key := func() []Field {
		return []Field{
			{Name: "file", Kind: File, Absent: "`env` or `command`"},
			{Name: "env", Kind: Text, Absent: "`file` or `command`"},
			{Name: "command", Kind: List, Absent: "`file` or `env`"},
		}
	}
	id := Field{Name: "id", Path: "Keys.Noise.ID", Kind: Text, Default: "1", Change: byChange}
	return []Field{
		{Name: "noise", Path: "Keys.Noise.Secret", Kind: Object, Required: true, Example: "{file: noise.key}",
			Change: byChange, Fields: append([]Field{id}, key()...)},
		{Name: "user_hash", Path: "Keys.UserHash", Kind: Object, Required: true, Example: "{file: user-hash.key}",
			Change: byPeriod, Fields: key()},
		{Name: "record", Path: "Record", Kind: Object, Example: "{env: TOLLGATE_RECORD}",
			Absent: "the file name of the user-hash key, with `.deployments` appended", Fields: source()},
	}
}
