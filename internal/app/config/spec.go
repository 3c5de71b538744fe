package config

import (
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// specification returns every field that a file may have.
func specification() []field {
	return []field{
		{
			name: "deployment", kind: text, initial: "tollgate", change: never, goField: "Deployment",
			meaning: "prefix of the transactional ids that fence writers, and of the default topics; two deployments on one cluster need different ones",
			to:      func(d *draft) any { return &d.cfg.Deployment },
		},
		{name: "kafka", kind: object, needed: true, meaning: "the brokers", fields: kafkaFields()},
		{name: "events", kind: object, needed: true, meaning: "what is read", fields: eventsFields()},
		{name: "privacy", kind: object, needed: true, meaning: "the promise to every user", fields: privacyFields()},
		{name: "time", kind: object, meaning: "whose clock decides, and how much disorder is on time", fields: timeFields()},
		{
			name: "metrics", kind: objects, needed: true, change: byChange,
			meaning: "what is counted. A user's budget is offered to the metrics in this order",
			begin: func(d *draft, index, count int) {
				if d.cfg.Metrics == nil {
					d.cfg.Metrics = make([]deployment.Metric, count)
					d.listFiles = make([]string, count)
				}
				d.metric, d.at = &d.cfg.Metrics[index], index
			},
			fields: metricFields(),
		},
		{name: "outputs", kind: object, meaning: "the deployment's own topics", fields: outputFields()},
		{name: "keys", kind: object, needed: true, meaning: "secret keys: 64 hex digits each, in a file or an environment variable", fields: keyFields()},
		{
			name: "shards", kind: integer, initial: "16", in: within(1, 4096), change: byChange, goField: "Shards",
			meaning: "account shards, and partitions of the ledger topic",
			to:      func(d *draft) any { return &d.cfg.Shards },
		},
		{
			name: "release_shards", kind: integer, initial: "1", in: within(1, 4096), change: byChange, goField: "ReleaseShards",
			meaning: "partitions of the counts topic",
			to:      func(d *draft) any { return &d.cfg.ReleaseShards },
		},
		{
			name: "ledger_slots", kind: integer, example: "64", absent: "64, or a quarter of the turns in the longest window, up to 1024", in: atLeast(4), change: byChange, goField: "LedgerSlots",
			meaning: "after how many turns a ledger key is used again; larger: fewer snapshots, longer restores",
			to:      func(d *draft) any { return &d.cfg.LedgerSlots },
		},
		{
			name: "catch_up", kind: integer, initial: "1", in: within(1, 16), goField: "CatchUp",
			meaning: "how many turns a run that lags may open at once; users' accounts then reserve the worst cases of all of them. At most a quarter of `ledger_slots`",
			to:      func(d *draft) any { return &d.cfg.CatchUp },
		},
	}
}

func privacyFields() []field {
	return []field{
		{
			name: "epsilon", kind: number, example: "1", needed: true, in: above(0), change: downwards, goField: "Privacy.Epsilon",
			meaning: "ε of a user over everything that is ever released (with a period: in one period)",
			to:      func(d *draft) any { return &d.cfg.Privacy.Epsilon },
		},
		{
			name: "delta", kind: number, example: "1e-6", needed: true, in: between(0, 1), change: downwards, goField: "Privacy.Delta",
			meaning: "δ of the same promise; well below 1 divided by the number of users",
			to:      func(d *draft) any { return &d.cfg.Privacy.Delta },
		},
		{
			name: "delta_keys", kind: number, example: "1e-7", absent: "a tenth of delta where a metric has private keys, else 0", in: below(0, 1), change: downwards, goField: "Privacy.DeltaKeys",
			meaning: "the part of delta that private keys may spend; below delta, and above 0 where a metric has private keys. It never rises: give it from the start, also without a metric with private keys, where one may be added later; and keep it when the last one goes, as the budget must not rise either",
			to:      func(d *draft) any { return &d.cfg.Privacy.DeltaKeys },
		},
		{
			name: "accountant", kind: text, initial: string(budgets.GDP), oneOf: budgets.AccountantNames(), change: never, goField: "Privacy.Accountant",
			meaning: "how (ε, δ) becomes a budget; gdp is exact for Gaussian noise",
			to:      func(d *draft) any { return &d.cfg.Privacy.Accountant },
		},
		{
			name: "period", kind: duration, example: "30d", absent: "one budget for life", in: atLeast(float64(time.Millisecond)), change: never, goField: "Privacy.Period",
			meaning: "every period of the events' time has a budget of its own: the promise is then to a user in one period, and n periods together are weaker (`tollgate validate` says by how much). Periods lie on multiples of it since 1970, UTC",
			to:      func(d *draft) any { return &d.cfg.Privacy.Period },
		},
		{
			name: "planned", kind: number, example: "0.05", initial: "0", in: below(0, 1), change: never, goField: "Privacy.Planned",
			meaning: "the part of the promise that `tollgate plan --spend-share` has spent on choosing bounds; `init` refuses less than that",
			to:      func(d *draft) any { return &d.cfg.Privacy.Planned },
		},
	}
}

func timeFields() []field {
	year := float64(366 * 24 * time.Hour)
	milli := float64(time.Millisecond)
	return []field{
		{
			name: "trust", kind: text, initial: "broker", oneOf: []string{"broker", "producer"}, change: never, goField: "Time.Trust",
			meaning: "broker: append times, which the topic must have (`message.timestamp.type=LogAppendTime`); producer: what records say is believed, a weaker promise: one record with a later time than its neighbours makes their events late for all users",
			to:      func(d *draft) any { return &d.cfg.Time.Trust },
		},
		{
			name: "lateness", kind: duration, example: "2m", initial: "0s", in: within(0, year), change: byChange, goField: "Time.Lateness",
			meaning: "how much older than its append time an event may be",
			to:      func(d *draft) any { return &d.cfg.Time.Lateness },
		},
		{
			name: "skew", kind: duration, example: "1s", initial: "0s", in: within(0, year), change: byChange, goField: "Time.Skew",
			meaning: "how much newer than its append time an event may be; with producer times also how far ahead of the clock a record's time may be and still end windows for all users",
			to:      func(d *draft) any { return &d.cfg.Time.Skew },
		},
		{
			name: "slack", kind: duration, example: "5s", absent: "5s with broker times, none with producer times", in: within(milli, year), change: byChange, goField: "Time.Slack",
			meaning: "clock step of the brokers below which a record's own times alone decide; broker times only. Not 0: one record could then make its neighbours late",
			to:      func(d *draft) any { return &d.cfg.Time.Slack },
		},
		{
			name: "idle_grace", kind: duration, initial: "1m", in: within(milli, year), goField: "Time.IdleGrace",
			meaning: "how long a partition must be silent before the wall clock, less lateness, skew and this, moves it on. With producer times that may be behind the clock (delayed or replayed streams): longer than a partition's longest pause. Not 0: records on their way to the broker would be late",
			to:      func(d *draft) any { return &d.cfg.Time.IdleGrace },
		},
		{
			name: "no_future", kind: boolean, initial: "false", change: never, goField: "Time.NoFuture",
			meaning: "turns the test for events of the future off: for files of the past. On a topic that goes on, one record far ahead can then end every window (producer times), hold every restart back to its offset (once retention has taken that record, no run starts any more), and make `run --until-end` wait",
			to:      func(d *draft) any { return &d.cfg.Time.NoFuture },
		},
	}
}

func outputFields() []field {
	topic := func(name, goField, meaning string, change changing, to func(d *draft) any) field {
		return field{
			name: name, kind: text, absent: "`<deployment>-" + goName(name) + "`", change: change, goField: goField,
			meaning: meaning, to: to,
		}
	}
	return []field{
		topic("counts", "Outputs.Counts", "the public topic", byChange, func(d *draft) any { return &d.cfg.Outputs.Counts }),
		topic("control", "Outputs.Control", "trusted: what belongs to a turn, what it released", never, func(d *draft) any { return &d.cfg.Outputs.Control }),
		topic("ledger", "Outputs.Ledger", "trusted: which user contributed what", byChange, func(d *draft) any { return &d.cfg.Outputs.Ledger }),
		topic("dead_letter", "Outputs.DeadLetter", "trusted: records that cannot be counted as events", byChange, func(d *draft) any { return &d.cfg.Outputs.DeadLetter }),
		topic("turns", "Outputs.Turns", "the public topic of the ends of turns: up to where counts are complete", byChange, func(d *draft) any { return &d.cfg.Outputs.Turns }),
		{
			name: "counts_format", kind: text, absent: "avro where a registry is configured, else json", oneOf: schemas.CountsFormats(), change: byChange, goField: "Outputs.CountsFormat",
			meaning: "how counts are written: avro: with the id of a schema in the registry; json: an object a record; avro_object: Avro's single-object encoding",
			to:      func(d *draft) any { return (*string)(&d.cfg.Outputs.CountsFormat) },
		},
		{
			name: "registry", kind: object, absent: "that of the events", goField: "Outputs.Registry",
			meaning: "avro counts: schema registry with Confluent's API. `init` and `change` register the schema of counts there, `validate` looks it up, and a run never asks",
			begin:   func(d *draft, _, _ int) { d.cfg.Outputs.Registry = &deployment.Registry{} },
			fields:  registryFields("", "its address, `https://…`", func(d *draft) *deployment.Registry { return d.cfg.Outputs.Registry }, func(d *draft) *source { return &d.countsPassword }),
		},
		{
			name: "publish_every", kind: duration, example: "1m", absent: "at once", in: within(float64(time.Millisecond), float64(time.Hour)), goField: "Outputs.PublishEvery",
			meaning: "counts appear at multiples of it only, by the wall clock: when they appear then tells nothing about how much there was to count",
			to:      func(d *draft) any { return &d.cfg.Outputs.PublishEvery },
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
		return from(of, field{absent: "`env`", meaning: "file with 64 hex digits and nothing else; `openssl rand -hex 32` makes one"},
			field{absent: "`file`", meaning: "environment variable with 64 hex digits"})
	}
	id := field{
		name: "id", kind: text, initial: "1", change: byChange, goField: "Keys.Noise.ID",
		meaning: "the key's name, which every release carries; public, at most 64 bytes",
		to:      func(d *draft) any { return &d.noiseID },
	}
	return []field{
		{
			name: "noise", kind: object, example: "{file: noise.key}", needed: true, change: byChange, goField: "Keys.Noise.Secret",
			meaning: "the noise key. Anyone who has it and the released counts can compute the exact counts. HEADER keeps a fingerprint",
			fields:  append([]field{id}, where(func(d *draft) *source { return &d.noise })...),
		},
		{
			name: "user_hash", kind: object, example: "{file: user-hash.key}", needed: true, change: never, goField: "Keys.UserHash",
			meaning: "another key: turns user ids into account ids and decides which contributions are clipped. HEADER keeps a fingerprint",
			fields:  where(func(d *draft) *source { return &d.userHash }),
		},
		{
			name: "record", kind: object, example: "{env: TOLLGATE_RECORD}", absent: "the name of the user-hash key's file with `.deployments` after it", goField: "Record",
			meaning: "where `init` records that a deployment has begun under these keys; other commands refuse the deployment of another cluster. Keep it with the keys, wherever they go",
			fields: from(func(d *draft) *source { return &d.record }, field{absent: "`env`", meaning: "file that `init` writes"},
				field{absent: "`file`", meaning: "environment variable, empty before the first `init`; `init` prints what belongs into it"}),
		},
	}
}
