package settings

import (
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// Table returns every field that a configuration file may have.
func Table() []Field {
	return []Field{
		{
			Name: "deployment", Kind: Text, Default: "tollgate", Change: never, Path: "Deployment",
			Meaning: "name of the deployment: prefix of its transactional ids and of its default topics. Two " +
				"deployments on one cluster need different names",
		},
		{
			Name: "kafka", Kind: Object, Needed: true, Path: "Kafka", Meaning: "how to reach the brokers",
			Fields: kafkaFields(),
		},
		{
			Name: "events", Kind: Object, Needed: true, Path: "Events",
			Meaning: "the events topic, and how its records are read", Fields: eventsFields(),
		},
		{
			Name: "privacy", Kind: Object, Needed: true, Path: "Privacy", Meaning: "the privacy promise to every user",
			Fields: privacyFields(),
		},
		{
			Name: "time", Kind: Object, Path: "Time",
			Meaning: "which clock Tollgate trusts, and how late or early an event may be", Fields: timeFields(),
		},
		{
			Name: "metrics", Kind: Objects, Needed: true, Change: byChange, Path: "Metrics",
			Meaning: "list of metrics. If a user's budget does not pay for all of them, the first ones in this list " +
				"get it",
			Fields: metricFields(),
		},
		{
			Name: "outputs", Kind: Object, Path: "Outputs", Meaning: "names and format of the deployment's own topics",
			Fields: outputFields(),
		},
		{
			Name: "keys", Kind: Object, Needed: true, Path: "Keys",
			Meaning: "the secret keys: 64 hex digits each, in a file or an environment variable", Fields: keyFields(),
		},
		{
			Name: "shards", Kind: Integer, Default: "16", In: within(1, 4096), Change: byChange, Path: "Shards",
			Meaning: "number of shards that users are divided into; the ledger topic has as many partitions",
		},
		{
			Name: "release_shards", Kind: Integer, Default: "1", In: within(1, 4096), Change: byChange,
			Path:    "ReleaseShards",
			Meaning: "number of partitions of the counts topic",
		},
		{
			Name: "ledger_slots", Kind: Integer, Example: "64",
			Absent: "64, or a quarter of the turns in the longest window if that is more, up to 1024", In: atLeast(4),
			Change: byChange, Path: "LedgerSlots",
			Meaning: "number of turns after which a ledger key is used again. A larger number means fewer snapshots, " +
				"but a longer restore at a start",
		},
		{
			Name: "catch_up", Kind: Integer, Default: "1", In: within(1, 16), Path: "CatchUp",
			Meaning: "number of turns that a lagging run may open together, at most a quarter of `ledger_slots`. It " +
				"catches up faster, but each account must reserve the worst case of all these turns, so users near " +
				"the end of their budget are left out of more windows",
		},
	}
}

func privacyFields() []Field {
	return []Field{
		{
			Name: "epsilon", Kind: Number, Example: "1", Needed: true, In: above(0), Change: downwards,
			Path:    "Privacy.Epsilon",
			Meaning: "ε of each user for everything that is ever released. With `privacy.period`: for one period",
		},
		{
			Name: "delta", Kind: Number, Example: "1e-6", Needed: true, In: between(0, 1), Change: downwards,
			Path:    "Privacy.Delta",
			Meaning: "δ of the promise. Choose it well below 1 divided by the number of users",
		},
		{
			Name: "delta_keys", Kind: Number, Example: "1e-7",
			Absent: "a tenth of `delta` if a metric has private keys, else 0", In: below(0, 1), Change: downwards,
			Path: "Privacy.DeltaKeys",
			Meaning: "part of `delta` that private keys may spend: below `delta`, and above 0 if a metric has " +
				"private keys. It can never be raised, so reserve it from the start if you may add a metric with " +
				"private keys later. Keep it when you remove the last one, because the rest of the budget must not " +
				"rise either",
		},
		{
			Name: "accountant", Kind: Text, Default: string(budgets.GDP), OneOf: budgets.AccountantNames(),
			BegunWith: []string{string(budgets.RDP)}, Change: never, Path: "Privacy.Accountant",
			Meaning: "how Tollgate turns (ε, δ) into a budget. `gdp` is exact for Gaussian noise. A deployment that " +
				"began with `rdp` keeps it, which is the same as `zcdp`",
		},
		{
			Name: "period", Kind: Duration, Example: "30d", Absent: "one budget for life, which `lasts` pays out",
			In: atLeast(float64(time.Millisecond)), Change: never, Path: "Privacy.Period",
			Meaning: "length of a budget period in event time. Each period has a budget of its own, so the promise " +
				"covers a user in one period; over several periods it is weaker, and `tollgate validate` says by how " +
				"much. Periods begin at multiples of this length since 1970-01-01 00:00 in the zone of " +
				"`time.window_zone`",
		},
		{
			Name: "lasts", Kind: Duration, Example: "365d", Absent: "needed without `period`",
			In: atLeast(float64(time.Millisecond)), Change: byChange, Path: "Privacy.Lasts",
			Meaning: "over how long the budget of one user is paid out, in event time",
		},
		{
			Name: "planned", Kind: Number, Example: "0.05", Default: "0", In: below(0, 1), Change: never,
			Path: "Privacy.Planned",
			Meaning: "part of the promise that was already spent on choosing settings, for example by a `demo` of " +
				"the same users",
		},
	}
}

func timeFields() []Field {
	year := float64(366 * 24 * time.Hour)
	milli := float64(time.Millisecond)
	return []Field{
		{
			Name: "trust", Kind: Text, Default: "broker", OneOf: []string{"broker", "producer"}, Change: never,
			Path: "Time.Trust",
			Meaning: "whose times decide when a window closes. `broker`: the broker's append times; the events topic " +
				"needs `message.timestamp.type=LogAppendTime`. `producer`: the times in the records. That is a " +
				"weaker promise, because one record with a time ahead of its neighbours makes their events late for " +
				"all users",
		},
		{
			Name: "lateness", Kind: Duration, Example: "2m", Default: "0s", In: within(0, year), Change: byChange,
			Path:    "Time.Lateness",
			Meaning: "how much older than its append time an event may be and still count",
		},
		{
			Name: "skew", Kind: Duration, Example: "1s", Default: "0s", In: within(0, year), Change: byChange,
			Path: "Time.Skew",
			Meaning: "how much newer than its append time an event may be and still count. With `trust: producer`, " +
				"also how far ahead of the clock a record's time may be and still close windows for all users",
		},
		{
			Name: "slack", Kind: Duration, Example: "5s", Absent: "5s with `trust: broker`", In: within(milli, year),
			Change: byChange, Path: "Time.Slack",
			Meaning: "for `trust: broker`: how far append times may step back within a partition, for example when a " +
				"new leader's clock is behind, before records count as late. Not 0, because one record could then " +
				"make its neighbours late",
		},
		{
			Name: "idle_grace", Kind: Duration, Default: "1m", In: within(milli, year), Path: "Time.IdleGrace",
			Meaning: "how long a partition must be silent before Tollgate closes its windows by the clock, as soon " +
				"as they ended `lateness`, `skew` and `idle_grace` ago. If producers' times are behind the clock " +
				"(delayed or replayed streams), they close later by the delay of the partition's last records, at " +
				"most a day. Not 0, because records on their way to the broker would then be late",
		},
		{
			Name: "window_zone", Kind: Text, Example: "Europe/Zurich", Absent: "UTC", Change: never,
			Path: "Time.WindowZone",
			Meaning: "time zone in which windows and budget periods begin. With Europe/Zurich, a window of `24h` is " +
				"a day there, which has 23 or 25 hours when clocks change. `events.time_zone` is the zone in which " +
				"the times of events are written",
		},
		{
			Name: "no_future", Kind: Boolean, Default: "false", Change: never, Path: "Time.NoFuture",
			Meaning: "`true` counts events whatever their time is, also a time in the future. Use it only for files " +
				"of the past: on a live topic, one record far ahead can then close every window (`trust: producer`), " +
				"make every restart read from its offset (and once retention has deleted that record, no run " +
				"starts), and make `run --until-end` wait",
		},
	}
}

func outputFields() []Field {
	topic := func(name, goField, meaning string, change Change) Field {
		return Field{
			Name: name, Kind: Text, Absent: "`<deployment>-" + goName(name) + "`", Change: change, Path: goField,
			Meaning: meaning,
		}
	}
	return []Field{
		topic("counts", "Outputs.Counts", "topic of the published counts: public", byChange),
		topic("control", "Outputs.Control", "topic that says which records belong to a turn and what the turn "+
			"released: for the trusted side only", never),
		topic("ledger", "Outputs.Ledger", "topic of what each user contributed and has spent: "+
			"for the trusted side only", byChange),
		topic("dead_letter", "Outputs.DeadLetter", "topic of records that Tollgate cannot read as events: "+
			"for the trusted side only", byChange),
		topic("turns", "Outputs.Turns", "topic that says up to which time counts are complete: public", byChange),
		{
			Name: "counts_format", Kind: Text,
			Absent: string(schemas.CountsAvro) + " where a registry is configured, else " + string(schemas.CountsJSON),
			OneOf:  schemas.CountsFormats(), Change: byChange, Path: "Outputs.CountsFormat",
			Meaning: "how counts are written. `avro`: with the id of a schema in the registry. `json`: one object in " +
				"each record",
		},
		{
			Name: "registry", Kind: Object, Absent: "`events.registry`", Optional: true, Path: "Outputs.Registry",
			Meaning: "for `counts_format: avro`: schema registry with Confluent's API. `init` and `change` register " +
				"the schema of counts there, `validate` checks that it is there, and `run` does not use it",
			Fields: registryFields("Outputs.Registry.", "address of the registry, `https://…`", ""),
		},
		{
			Name: "publish_every", Kind: Duration, Example: "1m", Absent: "at once",
			In: within(float64(time.Millisecond), float64(time.Hour)), Path: "Outputs.PublishEvery",
			Meaning: "publishes counts only at multiples of this duration, by the clock, so that the time of " +
				"publication does not reveal how much there was to count",
		},
	}
}

func goName(name string) string {
	if name == "dead_letter" {
		return "dead-letter"
	}
	return name
}

func keyFields() []Field {
	key := func(fields ...Field) []Field {
		return append(fields,
			Field{
				Name: "file", Kind: File, Absent: "`env`",
				Meaning: "file with 64 hex digits and nothing else; `tollgate init --generate-keys` makes it",
			},
			Field{Name: "env", Kind: Text, Absent: "`file`", Meaning: "environment variable with 64 hex digits"})
	}
	id := Field{
		Name: "id", Kind: Text, Default: "1", Change: byChange, Path: "Keys.Noise.ID", Apart: true,
		Meaning: "public name of the noise key, at most 64 bytes. Every released value carries it",
	}
	return []Field{
		{
			Name: "noise", Kind: Object, Example: "{file: noise.key}", Needed: true, Change: byChange,
			Path: "Keys.Noise.Secret",
			Meaning: "the noise key. Anyone who has it and the released counts can compute the exact counts. The " +
				"control topic keeps its fingerprint",
			Fields: key(id),
		},
		{
			Name: "user_hash", Kind: Object, Example: "{file: user-hash.key}", Needed: true, Change: never,
			Path: "Keys.UserHash",
			Meaning: "the user-hash key, which turns user ids into account ids and decides which of a user's events " +
				"count. The control topic keeps its fingerprint",
			Fields: key(),
		},
		{
			Name: "record", Kind: Object, Example: "{env: TOLLGATE_RECORD}",
			Absent: "the file name of the user-hash key, with `.deployments` appended", Path: "Record",
			Meaning: "where `init` records that a deployment has begun under these keys. Other commands refuse a " +
				"deployment that this record does not have. Keep it with the keys wherever you copy them",
			Fields: []Field{
				{Name: "file", Kind: File, Absent: "`env`", Meaning: "file that `init` writes"},
				{
					Name: "env", Kind: Text, Absent: "`file`",
					Meaning: "environment variable with the record. Leave it empty before the first `init`, which " +
						"prints its value",
				},
			},
		},
	}
}
