package commands

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/schemas"
)

// reads says which topics of a deployment a command line depends on; what it finds there from
// another version it refuses.
type reads struct{ control, ledger, counts bool }

var (
	allOfIt = reads{control: true, ledger: true, counts: true}
	// noneOfIt is for a command that reads the events alone, or asks brokers who may do what.
	noneOfIt = reads{}
)

// commandLine is a command line that finds a deployment of another version.
type commandLine struct {
	args  []string
	reads reads
	ends  int  // its exit code where it goes on
	serve bool // it goes on until it is ended
}

// commandLines has every command of the runner: without a line those that know no deployment.
func commandLines(events string) map[string][]commandLine {
	return map[string][]commandLine{
		"init":     {{args: []string{"--start", "2025-03-01T00:00:00Z"}, reads: allOfIt}, {args: []string{"--create-topics"}, reads: allOfIt}},
		"run":      {{args: []string{"--until-end", "--wait", "1m"}, reads: allOfIt}},
		"change":   {{args: []string{"--dry-run"}, reads: allOfIt}, {reads: allOfIt}, {args: []string{"--create-topics"}, reads: allOfIt}},
		"recover":  {{args: []string{"--by", "x"}, reads: allOfIt, ends: exitError}}, // it has not stopped itself
		"validate": {{reads: allOfIt}, {args: []string{"--acls"}}},
		"status":   {{reads: reads{control: true}}},
		"serve":    {{args: []string{"--listen", "127.0.0.1:0"}, reads: reads{counts: true}, serve: true}},
		"replay":   {{args: []string{"--header", "--input", events}}}, // writes events, which are of no version
		"plan":     {{args: []string{"--metric", "views"}}},
		"demo":     nil, "budget": nil, "probe": nil, "version": nil, "man": nil, "worker": nil, "completion": nil, "help": nil,
	}
}

// line runs a command line on a deployment. went says that it has gone on.
func (c *commandLine) run(t *testing.T, name, cfg string) (went bool, stderr string) {
	t.Helper()
	args := append([]string{name, "--config", cfg}, c.args...)
	if !c.serve {
		code, _, stderr := run(t, args...)
		return code == c.ends && (code == exitOK || strings.Contains(stderr, "has not stopped itself")), stderr
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errs kept
	ended := make(chan int, 1)
	go func() {
		a := app{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }}
		ended <- a.execute(ctx, args)
	}()
	await.That(t, patience, "serve has read everything, or says why not", func() bool {
		return strings.Contains(errs.String(), "read all published values") || strings.Contains(errs.String(), "version")
	})
	stop()
	<-ended
	return strings.Contains(errs.String(), "read all published values"), errs.String()
}

// ends returns where every partition of the deployment's topics ends, but for that of events.
func endsOf(t *testing.T, c *kafkalog.Client) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for topic, partitions := range upgradeTopics {
		for p := range int32(partitions) {
			bounds, err := c.Offsets(t.Context(), topic, p)
			if err != nil {
				t.Fatal(err)
			}
			if topic != "visits" {
				out[fmt.Sprint(topic, " ", p)] = bounds.High
			}
		}
	}
	return out
}

// Each command knows what it reads of a deployment; none is forgotten.
func TestEveryCommandSaysWhatItReadsOfADeployment(t *testing.T) {
	t.Parallel()
	lines := commandLines("")
	for _, c := range (&app{}).root().Commands() {
		if _, ok := lines[c.Name()]; !ok {
			t.Errorf("commandLines does not have %s", c.Name())
		}
	}
}

// refusesWhatItReads runs every command line on a deployment of which some topics hold records of
// another version, the one that wrote them. Those that read them say so, and none writes.
func refusesWhatItReads(t *testing.T, d *dumped, other reads, wrote string) {
	t.Helper()
	cfg, addr := d.onBroker(t)
	c := kafkaAt(t, addr)
	for name, lines := range commandLines(upgradeEvents(t, untilDay, allDays)) {
		for _, line := range lines {
			before, record := endsOf(t, c), exists(recordOf(cfg))
			if name == "run" && !line.hits(other) {
				continue // it goes on, and writes
			}
			went, stderr := line.run(t, name, cfg)
			switch {
			case line.hits(other) && (went || !strings.Contains(stderr, wrote)):
				t.Errorf("%s %v: it does not say %q, or goes on (%v): %s", name, line.args, wrote, went, stderr)
			case !line.hits(other) && !went:
				t.Errorf("%s %v: it is refused: %s", name, line.args, stderr)
			}
			if after := endsOf(t, c); !maps.Equal(before, after) {
				t.Errorf("%s %v has written: topics ended at %v and end at %v", name, line.args, before, after)
			}
			if !record && exists(recordOf(cfg)) && line.hits(other) {
				t.Errorf("%s %v has written the record of the keys", name, line.args)
			}
		}
	}
}

func (c *commandLine) hits(other reads) bool {
	return c.reads.control && other.control || c.reads.ledger && other.ledger || c.reads.counts && other.counts
}

// A deployment of a version whose formats this one does not know is refused before anything is
// written, by every command that would read them.
func TestRuleADeploymentOfAnEarlierFormatIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]reads{
		"control-3":          {control: true, ledger: true}, // serve finds no end of a turn: that version wrote none
		"control-4-deltas-2": {ledger: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusesWhatItReads(t, loadDump(t, name), other, "an earlier version of tollgate wrote it")
		})
	}
}

// A deployment of an earlier version goes on under this one, and publishes what the earlier one
// would have published.
func TestRuleADeploymentOfAnEarlierVersionGoesOnWithTheSameValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs pipelines")
	}
	for _, name := range []string{"control-4-deltas-3-without-end", "control-4-deltas-3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := loadDump(t, name)
			cfg, addr := d.onBroker(t)
			c := kafkaAt(t, addr)
			lines := commandLines(upgradeEvents(t, untilDay, allDays))
			for _, command := range []string{"validate", "status", "plan", "change", "recover", "init", "replay", "run", "serve", "status", "validate"} {
				before := endsOf(t, c)
				for _, line := range lines[command] {
					if went, stderr := line.run(t, command, cfg); !went {
						t.Fatalf("%s %v: %s", command, line.args, stderr)
					}
				}
				if after := endsOf(t, c); command != "run" && !maps.Equal(before, after) {
					t.Errorf("%s has written: topics ended at %v and end at %v", command, before, after)
				}
			}
			got := countsOf(t, c)
			delete(got, fillerKey)
			if !maps.Equal(got, d.Counts) {
				t.Errorf("it has published %v; the version that wrote the deployment published %v", got, d.Counts)
			}
			edit(t, cfg, "target: {absolute: 30}", "target: {absolute: 40}")
			mustRun(t, "change", "--config", cfg)
		})
	}
}

// later returns a dump whose newest record of a topic for which change makes one is as a later
// version would write it.
func (d *dumped) later(t *testing.T, topic string, change func(r *dumpedRecord) bool) *dumped {
	t.Helper()
	out := &dumped{Topics: maps.Clone(d.Topics)}
	partitions := slices.Clone(d.Topics[topic])
	out.Topics[topic] = partitions
	for p, records := range partitions {
		for i, r := range slices.Backward(records) {
			r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
			if change(&r) {
				partitions[p] = slices.Clone(records)
				partitions[p][i] = r
				return out
			}
		}
	}
	t.Fatalf("%s has no such record", topic)
	return nil
}

// bodyOf changes what a single part of a delta or of a snapshot holds.
func bodyOf(kind schemas.Kind, change func(body []byte)) func(r *dumpedRecord) bool {
	return func(r *dumpedRecord) bool {
		p, err := schemas.DecodeLedgerPart(r.Key, r.Value)
		if err != nil || p.Key.Kind != kind || p.Set.Parts != 1 {
			return false
		}
		change(p.Chunk)
		digest := sha256.Sum256(p.Chunk)
		copy(r.Value[len(r.Value)-len(p.Chunk)-len(digest):], digest[:])
		return true
	}
}

// Whatever a later version has changed, no command of this one writes to the deployment.
func TestRuleADeploymentOfALaterFormatIsRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs every command on ten deployments")
	}
	const wrote = "a later version of tollgate wrote it"
	newest := loadDump(t, "control-4-deltas-3")
	version := func(b []byte) { b[3]++ }
	ours := func(change func(b []byte)) func(r *dumpedRecord) bool {
		return func(r *dumpedRecord) bool {
			if schemas.Ours(r.Value) {
				change(r.Value)
			}
			return schemas.Ours(r.Value)
		}
	}
	kind := func(b []byte) { b[2] = 200 }
	accounts := func(body []byte) {
		_, n := binary.Uvarint(body[4:]) // the turn
		body[4+n+1]++
	}
	snapshot := func(r *dumpedRecord) bool {
		return strings.HasPrefix(string(r.Key), "snapshot/") && ours(version)(r)
	}
	field := func(r *dumpedRecord) bool {
		if bytes.HasPrefix(r.Value, []byte("{")) {
			r.Value = bytes.Replace(r.Value, []byte("{"), []byte(`{"later":1,`), 1)
			return true
		}
		return false
	}
	for name, one := range map[string]struct {
		topic  string
		change func(r *dumpedRecord) bool
		other  reads
		wrote  string
	}{
		"control":              {"shop-control", ours(version), reads{control: true}, wrote},
		"a kind on control":    {"shop-control", ours(kind), reads{control: true}, wrote},
		"a part of the ledger": {"shop-ledger", ours(version), reads{ledger: true}, wrote},
		"a kind on the ledger": {"shop-ledger", ours(kind), reads{ledger: true}, wrote},
		"a delta":              {"shop-ledger", bodyOf(schemas.KindDeltaPart, version), reads{ledger: true}, wrote},
		"a part of a snapshot": {"shop-ledger", snapshot, reads{ledger: true}, wrote},
		"a snapshot":           {"shop-ledger", bodyOf(schemas.KindSnapshotPart, version), reads{ledger: true}, wrote},
		"accounts":             {"shop-ledger", bodyOf(schemas.KindSnapshotPart, accounts), reads{ledger: true}, wrote},
		"counts":               {"shop-counts", field, reads{counts: true}, "another version of Tollgate wrote it"},
		"the ends of turns":    {"shop-turns", field, noneOfIt, ""}, // a field that is added there is passed over
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusesWhatItReads(t, newest.later(t, one.topic, one.change), one.other, one.wrote)
		})
	}
}
