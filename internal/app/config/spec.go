package config

import (
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// specification returns every field that a file may have.
func specification() []field {
	return []field{
		{
			name: "deployment", kind: text, initial: "tollgate", change: never, goField: "Deployment",
			meaning: "name of the deployment: prefix of its transactional ids and of its default topics. Two deployments on one cluster need different names",
		},
		{name: "kafka", kind: object, needed: true, goField: "Kafka", meaning: "how to reach the brokers", fields: kafkaFields()},
		{name: "events", kind: object, needed: true, goField: "Events", meaning: "the events topic, and how its records are read", fields: eventsFields()},
		{name: "privacy", kind: object, needed: true, goField: "Privacy", meaning: "the privacy promise to every user", fields: privacyFields()},
		{name: "time", kind: object, goField: "Time", meaning: "which clock Tollgate trusts, and how late or early an event may be", fields: timeFields()},
		{
			name: "metrics", kind: objects, needed: true, change: byChange, goField: "Metrics",
			meaning: "list of metrics. If a user's budget does not pay for all of them, the first ones in this list get it",
			fields:  metricFields(),
		},
		{name: "outputs", kind: object, goField: "Outputs", meaning: "names and format of the deployment's own topics", fields: outputFields()},
		{name: "keys", kind: object, needed: true, goField: "Keys", meaning: "the secret keys: 64 hex digits each, in a file or an environment variable", fields: keyFields()},
		{
			name: "shards", kind: integer, initial: "16", in: within(1, 4096), change: byChange, goField: "Shards",
			meaning: "number of shards that users are divided into; the ledger topic has as many partitions",
		},
		{
			name: "release_shards", kind: integer, initial: "1", in: within(1, 4096), change: byChange, goField: "ReleaseShards",
			meaning: "number of partitions of the counts topic",
		},
		{
			name: "ledger_slots", kind: integer, example: "64", absent: "64, or a quarter of the turns in the longest window if that is more, up to 1024", in: atLeast(4), change: byChange, goField: "LedgerSlots",
			meaning: "number of turns after which a ledger key is used again. A larger number means fewer snapshots, but a longer restore at a start",
		},
		{
			name: "catch_up", kind: integer, initial: "1", in: within(1, 16), goField: "CatchUp",
			meaning: "number of turns that a lagging run may open together, at most a quarter of `ledger_slots`. It catches up faster, but each account must reserve the worst case of all these turns, so users near the end of their budget are left out of more windows",
		},
	}
}

func privacyFields() []field {
	return []field{
		{
			name: "epsilon", kind: number, example: "1", needed: true, in: above(0), change: downwards, goField: "Privacy.Epsilon",
			meaning: "ε of each user for everything that is ever released. With `privacy.period`: for one period",
		},
		{
			name: "delta", kind: number, example: "1e-6", needed: true, in: between(0, 1), change: downwards, goField: "Privacy.Delta",
			meaning: "δ of the promise. Choose it well below 1 divided by the number of users",
		},
		{
			name: "delta_keys", kind: number, example: "1e-7", absent: "a tenth of `delta` if a metric has private keys, else 0", in: below(0, 1), change: downwards, goField: "Privacy.DeltaKeys",
			meaning: "part of `delta` that private keys may spend: below `delta`, and above 0 if a metric has private keys. It can never be raised, so reserve it from the start if you may add a metric with private keys later. Keep it when you remove the last one, because the rest of the budget must not rise either",
		},
		{
			name: "accountant", kind: text, initial: string(budgets.GDP), oneOf: budgets.AccountantNames(), begunWith: []string{string(budgets.RDP)}, change: never, goField: "Privacy.Accountant",
			meaning: "how Tollgate turns (ε, δ) into a budget. `gdp` is exact for Gaussian noise. A deployment that began with `rdp` keeps it, which is the same as `zcdp`",
		},
		{
			name: "period", kind: duration, example: "30d", absent: "one budget for life, which `lasts` pays out", in: atLeast(float64(time.Millisecond)), change: never, goField: "Privacy.Period",
			meaning: "length of a budget period in event time. Each period has a budget of its own, so the promise covers a user in one period; over several periods it is weaker, and `tollgate validate` says by how much. Periods begin at multiples of this length since 1970-01-01 00:00 in the zone of `time.window_zone`",
		},
		{
			name: "lasts", kind: duration, example: "365d", absent: "needed without `period`", in: atLeast(float64(time.Millisecond)), change: byChange, goField: "Privacy.Lasts",
			meaning: "over how long the budget of one user is paid out, in event time",
		},
		{
			name: "planned", kind: number, example: "0.05", initial: "0", in: below(0, 1), change: never, goField: "Privacy.Planned",
			meaning: "part of the promise that was already spent on choosing settings, for example by a `demo` of the same users",
		},
	}
}

func timeFields() []field {
	year := float64(366 * 24 * time.Hour)
	milli := float64(time.Millisecond)
	return []field{
		{
			name: "trust", kind: text, initial: "broker", oneOf: []string{"broker", "producer"}, change: never, goField: "Time.Trust",
			meaning: "whose times decide when a window closes. `broker`: the broker's append times; the events topic needs `message.timestamp.type=LogAppendTime`. `producer`: the times in the records. That is a weaker promise, because one record with a time ahead of its neighbours makes their events late for all users",
		},
		{
			name: "lateness", kind: duration, example: "2m", initial: "0s", in: within(0, year), change: byChange, goField: "Time.Lateness",
			meaning: "how much older than its append time an event may be and still count",
		},
		{
			name: "skew", kind: duration, example: "1s", initial: "0s", in: within(0, year), change: byChange, goField: "Time.Skew",
			meaning: "how much newer than its append time an event may be and still count. With `trust: producer`, also how far ahead of the clock a record's time may be and still close windows for all users",
		},
		{
			name: "slack", kind: duration, example: "5s", absent: "5s with `trust: broker`", in: within(milli, year), change: byChange, goField: "Time.Slack",
			meaning: "for `trust: broker`: how far append times may step back within a partition, for example when a new leader's clock is behind, before records count as late. Not 0, because one record could then make its neighbours late",
		},
		{
			name: "idle_grace", kind: duration, initial: "1m", in: within(milli, year), goField: "Time.IdleGrace",
			meaning: "how long a partition must be silent before Tollgate closes its windows by the clock, as soon as they ended `lateness`, `skew` and `idle_grace` ago. If producers' times are behind the clock (delayed or replayed streams), they close later by the delay of the partition's last records, at most a day. Not 0, because records on their way to the broker would then be late",
		},
		{
			name: "window_zone", kind: text, example: "Europe/Zurich", absent: "UTC", change: never, goField: "Time.WindowZone",
			meaning: "time zone in which windows and budget periods begin. With Europe/Zurich, a window of `24h` is a day there, which has 23 or 25 hours when clocks change. `events.time_zone` is the zone in which the times of events are written",
		},
		{
			name: "no_future", kind: boolean, initial: "false", change: never, goField: "Time.NoFuture",
			meaning: "`true` counts events whatever their time is, also a time in the future. Use it only for files of the past: on a live topic, one record far ahead can then close every window (`trust: producer`), make every restart read from its offset (and once retention has deleted that record, no run starts), and make `run --until-end` wait",
		},
	}
}

func outputFields() []field {
	topic := func(name, goField, meaning string, change changing) field {
		return field{
			name: name, kind: text, absent: "`<deployment>-" + goName(name) + "`", change: change, goField: goField,
			meaning: meaning,
		}
	}
	return []field{
		topic("counts", "Outputs.Counts", "topic of the published counts: public", byChange),
		topic("control", "Outputs.Control", "topic that says which records belong to a turn and what the turn released: for the trusted side only", never),
		topic("ledger", "Outputs.Ledger", "topic of what each user contributed and has spent: for the trusted side only", byChange),
		topic("dead_letter", "Outputs.DeadLetter", "topic of records that Tollgate cannot read as events: for the trusted side only", byChange),
		topic("turns", "Outputs.Turns", "topic that says up to which time counts are complete: public", byChange),
		{
			name: "counts_format", kind: text, absent: string(schemas.CountsAvro) + " where a registry is configured, else " + string(schemas.CountsJSON), oneOf: schemas.CountsFormats(), change: byChange, goField: "Outputs.CountsFormat",
			meaning: "how counts are written. `avro`: with the id of a schema in the registry. `json`: one object in each record",
		},
		{
			name: "registry", kind: object, absent: "`events.registry`", optional: true, goField: "Outputs.Registry",
			meaning: "for `counts_format: avro`: schema registry with Confluent's API. `init` and `change` register the schema of counts there, `validate` checks that it is there, and `run` does not use it",
			fields:  registryFields("Outputs.Registry.", "address of the registry, `https://…`", "", func(d *draft) *source { return &d.countsPassword }),
		},
		{
			name: "publish_every", kind: duration, example: "1m", absent: "at once", in: within(float64(time.Millisecond), float64(time.Hour)), goField: "Outputs.PublishEvery",
			meaning: "publishes counts only at multiples of this duration, by the clock, so that the time of publication does not reveal how much there was to count",
		},
	}
}

func goName(name string) string {
	if name == "dead_letter" {
		return "dead-letter"
	}
	return name
}

func keyFields() []field {
	from := func(of func(d *draft) *source, file, env field) []field {
		file.name, file.kind, file.to = "file", path, func(d *draft) any { return &of(d).file }
		env.name, env.kind, env.to = "env", text, func(d *draft) any { return &of(d).env }
		return []field{file, env}
	}
	where := func(of func(d *draft) *source) []field {
		return from(of, field{absent: "`env`", meaning: "file with 64 hex digits and nothing else; `tollgate init --generate-keys` makes it"},
			field{absent: "`file`", meaning: "environment variable with 64 hex digits"})
	}
	id := field{
		name: "id", kind: text, initial: "1", change: byChange, goField: "Keys.Noise.ID",
		meaning: "public name of the noise key, at most 64 bytes. Every released value carries it",
		to:      func(d *draft) any { return &d.noiseID },
	}
	return []field{
		{
			name: "noise", kind: object, example: "{file: noise.key}", needed: true, change: byChange, goField: "Keys.Noise.Secret",
			meaning: "the noise key. Anyone who has it and the released counts can compute the exact counts. The control topic keeps its fingerprint",
			fields:  append([]field{id}, where(func(d *draft) *source { return &d.noise })...),
		},
		{
			name: "user_hash", kind: object, example: "{file: user-hash.key}", needed: true, change: never, goField: "Keys.UserHash",
			meaning: "the user-hash key, which turns user ids into account ids and decides which of a user's events count. The control topic keeps its fingerprint",
			fields:  where(func(d *draft) *source { return &d.userHash }),
		},
		{
			name: "record", kind: object, example: "{env: TOLLGATE_RECORD}", absent: "the file name of the user-hash key, with `.deployments` appended", goField: "Record",
			meaning: "where `init` records that a deployment has begun under these keys. Other commands refuse a deployment that this record does not have. Keep it with the keys wherever you copy them",
			fields: from(func(d *draft) *source { return &d.record }, field{absent: "`env`", meaning: "file that `init` writes"},
				field{absent: "`file`", meaning: "environment variable with the record. Leave it empty before the first `init`, which prints its value"}),
		},
	}
}
