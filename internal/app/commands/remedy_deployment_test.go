package commands

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

var deploymentRemedies = []remedy{
	{texts: []string{"\nnext: tollgate run --config %s\n", "the next run may start"}, walk: func(w *walk) {
		w.configured()
		next := func(line string) {
			if output := w.says(line); !strings.Contains(output, "next: tollgate run --config "+w.value("C")+"\n") {
				w.Errorf("%s: %s", line, output)
			}
			w.must("run --config $C --until 2025-03-01 --wait 1m")
		}
		next("init --config $C --generate-keys --create-topics --event-partitions 1 --start 2025-03-01")
		next("init --config $C")
		w.edit("absolute: 30", "absolute: 40")
		next("change --config $C")
		w.stop()
		next("recover --config $C --by Ada")
	}},
	{texts: one("find the cause, then run tollgate recover --by NAME"), walk: func(w *walk) {
		w.settled()
		w.vars["NAME"] = "Ada"
		for _, line := range []string{"run --config $C --until 2025-03-04 --wait 1m", "validate --config $C", "status --config $C"} {
			w.stop()
			w.paste(w.refused(line), "tollgate recover --by")
			w.works(line)
		}
	}},
	{texts: []string{"put it in force with: tollgate change --config", "or begin a new deployment with new keys, another name (deployment: NAME)"}, walk: func(w *walk) {
		w.begun()
		w.edit("absolute: 30", "absolute: 40")
		w.paste(w.refused("init --config $C"), "tollgate change --config")
		w.works("init --config $C")
		w.edit("epsilon: 4", "epsilon: 9")
		w.refused("init --config $C")
		w.edit("epsilon: 9", "epsilon: 4")
		w.works("init --config $C")
		w.edit("epsilon: 4", "epsilon: 9", "deployment: shop", "deployment: other")
		w.ownKeys()
		w.works("init --config $C --create-topics")
	}},
	{texts: one("is ignored: the first init has fixed"), walk: func(w *walk) {
		w.begun()
		w.says("init --config $C --start 2025-06-01")
		w.works("init --config $C")
	}},
	{texts: one("(tollgate change --dry-run lists all differences)"), walk: func(w *walk) {
		w.begun()
		w.edit("absolute: 30", "absolute: 40")
		w.paste(w.says("validate --config $C"), "tollgate change --dry-run")
		w.must("change --config $C")
		w.works("validate --config $C")
	}},
	{texts: one("or make the change with: tollgate change"), walk: func(w *walk) {
		w.settled()
		const run = "run --config $C --until 2025-03-03 --wait 1m"
		w.edit("absolute: 30", "absolute: 40")
		output := w.refused(run)
		w.edit("absolute: 40", "absolute: 30")
		w.works(run)
		w.edit("absolute: 30", "absolute: 40")
		w.paste(output, "tollgate change")
		w.works(run)
		const added = "\n  - {name: pages, window: {size: 1d}, keys: {list: [north]}, target: {absolute: 90}, last_at_least: 4}\nkeys:"
		w.edit("\nkeys:", added)
		output = w.refused(run)
		w.edit(added, "\nkeys:")
		w.works(run)
		w.edit("\nkeys:", added)
		w.paste(output, "tollgate change")
		w.works(run)
	}},
	{texts: one("; or restore the value in force"), walk: func(w *walk) {
		w.begun()
		w.edit("noise: {file: secrets/noise.key}", "noise: {id: next, file: secrets/next.key}")
		w.must("change --config $C --generate-keys")
		w.edit("noise: {id: next, file: secrets/next.key}", "noise: {file: secrets/noise.key}")
		w.refused("run --config $C --until 2025-03-01 --wait 1m")
		w.edit("noise: {file: secrets/noise.key}", "noise: {id: next, file: secrets/next.key}")
		w.works("run --config $C --until 2025-03-01 --wait 1m")
	}},
	{texts: []string{"begin a new deployment with new keys for it", "name a new, empty ledger topic", "name a new, empty counts topic", "name a ledger topic that is empty", "name a counts topic that is empty"}, walk: func(w *walk) {
		w.settled("shards: 4", "shards: 4\nrelease_shards: 1\n# topics")
		w.edit("shards: 4\nrelease_shards: 1", "shards: 8\nrelease_shards: 2")
		w.refused("change --config $C --create-topics")
		w.edit("# topics", "outputs: {ledger: ledger-2}")
		w.refused("change --config $C --create-topics")
		w.edit("{ledger: ledger-2}", "{ledger: ledger-2, counts: counts-2}")
		create(w, w.value("B"),
			kafkalog.TopicSpec{Name: "ledger-2", Partitions: 8, Config: map[string]string{"cleanup.policy": "compact"}},
			kafkalog.TopicSpec{Name: "counts-2", Partitions: 2, Config: map[string]string{"retention.ms": "-1"}})
		w.write("counts-2", kafkalog.Message{Value: []byte("of another program")})
		w.refused("change --config $C --create-topics")
		w.write("ledger-2", kafkalog.Message{Key: []byte("of another program"), Value: []byte("a")})
		w.edit("counts-2", "counts-3")
		w.refused("change --config $C --create-topics")
		w.edit("ledger-2", "ledger-3")
		w.works("change --config $C --create-topics")
		w.must("run --config $C --until 2025-03-04 --wait 1m")

		w.edit("topic: visits", "topic: other")
		w.refused("change --config $C --dry-run")
		w.edit("deployment: shop", "deployment: other", "{ledger: ledger-3, counts: counts-3}", "{}")
		w.ownKeys()
		w.must("init --config $C --create-topics --event-partitions 1")
	}},
	{texts: one("give the new key another id (keys.noise.id)"), walk: func(w *walk) {
		w.begun()
		w.edit("noise: {file: secrets/noise.key}", "noise: {file: secrets/spring.key}")
		w.refused("change --config $C --generate-keys")
		w.edit("noise: {file", "noise: {id: spring, file")
		w.works("change --config $C --generate-keys")
	}},
	{texts: []string{"the deployment has reserved nothing, so that you cannot add metrics with private keys", "which never rises: write privacy.delta_keys:", "would rise with it, which weakens the promise: write privacy.delta_keys:"}, walk: func(w *walk) {
		const more = "\n  - {name: private, window: {size: 1d}, keys: {mode: private}, bounds: {max_keys_per_user: 1, max_events_per_key: 1}, target: {absolute: 400}, last_at_least: 2}\n"
		private := func(add bool) {
			if add {
				w.edit("\nkeys:\n", more+"keys:\n")
			} else {
				w.edit(more+"keys:\n", "\nkeys:\n")
			}
		}
		w.begun()
		private(true)
		w.refused("change --config $C")
		private(false)
		w.works("change --config $C")
		private(true)
		w.edit("deployment: shop", "deployment: reserved")
		w.ownKeys()
		w.must("init --config $C --create-topics")
		private(false)
		w.vars["kept"] = w.proposed(w.refused("change --config $C --dry-run"), "write privacy.delta_keys: ")
		w.edit("delta: 1e-6", "delta: 1e-6, delta_keys: "+w.vars["kept"])
		w.works("change --config $C")
		private(true)
		w.edit("delta: 1e-6, delta_keys: "+w.vars["kept"], "delta: 1e-6, delta_keys: 2e-7")
		kept := w.proposed(w.refused("change --config $C --dry-run"), "write privacy.delta_keys: ")
		w.edit("delta_keys: 2e-7", "delta_keys: "+kept)
		w.works("change --config $C")
	}},
	{texts: one("name an empty topic under outputs.control, or delete this one"), walk: func(w *walk) {
		for _, remedy := range []func(){
			func() { w.edit("shards: 4", "shards: 4\noutputs: {control: control-2}") },
			func() { w.lose("other-control") },
		} {
			name := "shop"
			if w.vars["C"] != "" {
				name = "other"
			}
			w.configured("deployment: shop", "deployment: "+name)
			create(w, w.value("B"), kafkalog.TopicSpec{Name: name + "-control", Partitions: 1, Config: map[string]string{"retention.ms": "-1"}})
			w.write(name+"-control", kafkalog.Message{Value: []byte("of another program")})
			w.refused("init --config $C --generate-keys --create-topics --event-partitions 1")
			remedy()
			w.works("init --config $C --create-topics --event-partitions 1")
		}
	}},
	{texts: []string{"begin the deployment with tollgate init --create-topics, or correct", "is empty: %w: begin the deployment with tollgate init"}, walk: func(w *walk) {
		w.configured()
		madeKeys(w.T, w.value("C"), 0o600)
		output := w.refused("change --config $C --dry-run")
		w.refused("status --config $C")
		w.edit("deployment: shop", "deployment: shopp")
		w.refused("status --config $C")
		create(w, w.value("B"), visitsTopic)
		w.line("init --config $C --create-topics --start earliest") // which says that events is empty
		w.paste(w.refused("status --config $C"), "tollgate init")
		w.works("status --config $C")
		w.edit("deployment: shopp", "deployment: shop")
		w.ownKeys()
		w.paste(output, "tollgate init --create-topics")
		w.works("change --config $C --dry-run")
	}},
	{texts: one("none has begun yet: start one with tollgate run"), walk: func(w *walk) {
		w.begun()
		w.says("status --config $C")
		w.must("run --config $C --until 2025-03-01 --wait 1m")
		w.works("status --config $C")
	}},
	{texts: one("check that a run is alive, and what it says it waits for"), walk: func(w *walk) {
		w.configured("trust: producer, no_future: true", "trust: broker, no_future: true") // with producers' times the first turn is due a day later
		now := time.Now().UTC()
		w.must("init --config $C --generate-keys --create-topics --event-partitions 1 --start " + now.AddDate(0, 0, -3).Format(time.DateOnly))
		w.refused("status --config $C --max-lag 1d")
		w.must("run --config $C --wait 1m --until " + now.Format(time.DateOnly))
		w.works("status --config $C --max-lag 1d")
	}},
	{texts: one("if there is one, then repeat the change"), done: "pipeline.TestRuleARefusedChangeWritesNothing"},
	{texts: one("drain that run, then repeat the change"), done: "integration.TestRuleATurnUnderWayIsFinishedBeforeAChange"},
	{texts: []string{"run with the old configuration, drain it, then repeat the change", "run the old configuration and drain it first"}, done: "integration.TestRuleATurnUnderWayIsFinishedBeforeAChange"},
	{texts: one("Restore that topic if it lost records"), not: "change compares the topics before it, and prints what run prints; this text is for what is published in between"},
	{texts: one("or another program wrote to counts. "), walk: func(w *walk) {
		w.settled()
		w.forge()
		w.refused("run --config $C --until 2025-03-04 --wait 1m")
		w.edit("absolute: 30", "absolute: 40")
		w.refused("change --config $C")
		w.edit("absolute: 40", "absolute: 30")
		w.anew()
	}},
	{texts: one("its records use a HEADER at offset"), walk: func(w *walk) {
		w.begun()
		var header []byte
		next := int64(0)
		w.read("shop-control", func(r kafkalog.Record) {
			if next = r.Offset + 1; r.Offset == 0 {
				header = slices.Clone(r.Value)
			}
		})
		value, err := schemas.EncodeControl(schemas.Control{Back: next, BackEpoch: -1, Generation: next, Body: &schemas.Run{ID: [16]byte{1}}})
		if err != nil {
			w.Fatal(err)
		}
		w.write("shop-control", kafkalog.Message{Value: header}) // of an init that came too late
		w.write("shop-control", kafkalog.Message{Value: value})
		for _, command := range []string{"run --config $C --until-end --wait 1m", "validate --config $C", "status --config $C"} {
			w.refused(command)
		}
		w.anew()
	}},
	{texts: one("comparing the %d generations on topic"), done: "pipeline.TestRuleAWeakenedPromiseIsNoticed"},
	{texts: one("start the run again with the configuration of the new generation"), walk: func(w *walk) {
		w.settled()
		w.put(w.beside("old.yaml"), contentsOf(w.T, w.value("C")))
		w.vars["OLD"] = w.beside("old.yaml")
		w.edit("absolute: 30", "absolute: 40")
		// The run has looked at control, and takes its epoch after the change was written.
		changed, begins := make(chan struct{}), make(chan struct{})
		at := func(point string, fn func()) context.Context {
			return crashpoint.With(w.Context(), crashpoint.Hooks{At: func(at string, _ int) error {
				if at == point {
					fn()
				}
				return nil
			}})
		}
		var run *begun
		ctx := at(crashpoint.GenerationWriting, func() {
			run = beginUnder(at(crashpoint.EpochWriting, func() {
				close(begins)
				<-changed
			}), nil, w.args("run --config $OLD --until 2025-03-04 --wait 1m")...)
			select {
			case <-begins:
			case <-run.gone:
			}
		})
		code, output := w.lineUnder(ctx, "change --config $C")
		close(changed)
		if code != exitOK {
			w.Fatal(output)
		}
		if <-run.gone; w.missing(run.stderr.String()) {
			w.Fatal(run.stderr.String())
		}
		w.works(untilFourth)
	}},
	{texts: one("this user may not write to the dead-letter topic %s"), done: "pipeline/internal/reading.TestTheFirstDeadLetterWaitsForItsRight"},
	{texts: one("topic %s says that the newest values are on topic %s"), done: "pipeline.TestFollowingSaysThatValuesAreOnAnotherTopic"},
	{texts: one("restore its old records, or begin"), done: "pipeline.TestARunOverReplacedRecordsStopsAtItsStart"},
	{texts: one("batches have producers' times, and the deployment trusts"), walk: func(w *walk) {
		w.configured("trust: producer, no_future: true", "trust: broker")
		w.must("init --config $C --generate-keys --create-topics --event-partitions 1")
		over := begin("run", "--config", w.value("C"))
		written(w.T, w.value("B"), "shop-control", 2) // HEADER, RUN, EPOCH: it has begun
		w.alter("visits", "message.timestamp.type", "CreateTime")
		now := time.Now().UTC()
		w.write("visits", kafkalog.Message{Value: []byte(now.Format(time.RFC3339) + ",u,north"), Timestamp: kafkalog.Now()})
		<-over.over
		w.missing(over.stderr.String())
		w.alter("visits", "message.timestamp.type", "LogAppendTime")
		w.refused("run --config $C --until-end --wait 1m") // what it has read stays as it is

		w.edit("deployment: shop", "deployment: other", "topic: visits", "topic: visits-2")
		w.ownKeys()
		w.must("init --config $C --create-topics --event-partitions 1")
		w.works("run --config $C --until 2025-03-01 --wait 1m")
		w.edit("deployment: other", "deployment: third", "topic: visits-2", "topic: visits", "trust: broker", "trust: producer, no_future: true")
		w.ownKeys()
		w.must("init --config $C --create-topics --start " + now.AddDate(0, 0, -3).Format(time.DateOnly))
		w.works("run --config $C --wait 1m --until " + now.Format(time.DateOnly))
	}},
	{texts: one("has taken over"), not: "no remedy: how the run ended, which a later run has caused"},
}

// proposed returns the number that an output proposes for a field.
func (w *walk) proposed(output, field string) string {
	w.Helper()
	_, rest, found := strings.Cut(output, field)
	words := strings.Fields(rest)
	if !found || len(words) == 0 {
		w.Fatalf("no %s in: %s", field, output)
	}
	return strings.TrimRight(words[0], ",;.)")
}

// stop has the deployment stop itself.
func (w *walk) stop() {
	w.Helper()
	value, err := schemas.EncodeControl(schemas.Control{BackEpoch: -1, Body: &schemas.Stop{Epoch: w.epoch(), Turn: 3, Reason: "a reason"}})
	if err != nil {
		w.Fatal(err)
	}
	w.write("shop-control", kafkalog.Message{Value: value})
}

// epoch returns where the last EPOCH stands on control; −1 where there is none.
func (w *walk) epoch() int64 {
	w.Helper()
	at := int64(-1)
	w.read("shop-control", func(r kafkalog.Record) {
		if c, err := schemas.DecodeControl(r.Value); err == nil {
			if _, is := c.Body.(*schemas.Epoch); is {
				at = r.Offset
			}
		}
	})
	return at
}

// read hands on every record of partition 0 of a topic.
func (w *walk) read(topic string, fn func(kafkalog.Record)) {
	w.Helper()
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	bounds, err := client.Offsets(w.Context(), topic, 0)
	if err == nil {
		err = client.ReadRange(w.Context(), topic, 0, bounds.Start, bounds.LastStable, func(r kafkalog.Record) error {
			fn(r)
			return nil
		})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// forge writes a value of the next turn to counts, as another program could that copies ours.
func (w *walk) forge() {
	w.Helper()
	var forged schemas.Release
	var m kafkalog.Message
	w.read("shop-counts", func(r kafkalog.Record) {
		if rel, err := schemas.DecodeRelease(r.Value); err == nil {
			forged, m.Headers = rel, slices.Clone(r.Headers)
		}
	})
	day := forged.WindowEnd - forged.WindowStart
	forged.Turn, forged.WindowStart, forged.WindowEnd = forged.Turn+1, forged.WindowEnd, forged.WindowEnd+day
	var err error
	if m.Value, err = schemas.EncodeRelease(schemas.CountsEncoding{Format: schemas.CountsJSON}, forged); err != nil {
		w.Fatal(err)
	}
	m.Key = schemas.EncodeReleaseKey(forged.Metric, forged.WindowStart, []byte(forged.Key))
	w.write("shop-counts", m)
}
