package commands

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

// accountantsOn returns the accountants of the HEADER and of the generations on a control topic.
func accountantsOn(t *testing.T, control []dumpedRecord) (all []budgets.Accountant) {
	t.Helper()
	for _, r := range control {
		c, err := schemas.DecodeControl(r.Value)
		if err != nil {
			continue // a filler
		}
		switch b := c.Body.(type) {
		case *schemas.Header:
			all = append(all, b.Budget.Accountant)
		case *schemas.Generation:
			all = append(all, b.Header.Budget.Accountant)
		}
	}
	return all
}

// A deployment that has begun with rdp goes on, under that name and with the values of zcdp, and is
// changed.
func TestRuleADeploymentBegunWithRDPGoesOnAsWithZCDP(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs pipelines")
	}
	addr := broker(t)
	cfg := upgradeFile(t, addr)
	edit(t, cfg, "delta: 1e-6}", "delta: 1e-6, accountant: zcdp}")
	mustRun(t, "init", "--config", cfg, "--create-topics", "--event-partitions", "1", "--start", "2025-03-01T00:00:00Z")
	mustRun(t, "replay", "--config", cfg, "--header", "--input", upgradeEvents(t, 0, untilDay))
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")
	c := kafkaAt(t, addr)
	begun := &dumped{Topics: map[string][][]dumpedRecord{}}
	for topic, partitions := range upgradeTopics {
		for p := range int32(partitions) {
			begun.Topics[topic] = append(begun.Topics[topic], recordsOf(t, c, topic, p))
		}
	}
	header := &begun.Topics["shop-control"][0][0]
	record, err := schemas.DecodeControl(header.Value)
	if err != nil {
		t.Fatal(err)
	}
	record.Body.(*schemas.Header).Budget.Accountant = budgets.RDP
	if header.Value, err = schemas.EncodeControl(record); err != nil {
		t.Fatal(err)
	}
	later := upgradeEvents(t, untilDay, allDays)
	mustRun(t, "replay", "--config", cfg, "--header", "--input", later)
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")
	want := countsOf(t, c)

	cfg, addr = begun.onBroker(t)
	edit(t, cfg, "delta: 1e-6}", "delta: 1e-6, accountant: rdp}")
	c = kafkaAt(t, addr)
	mustRun(t, "validate", "--config", cfg)
	mustRun(t, "replay", "--config", cfg, "--header", "--input", later)
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")
	got := countsOf(t, c)
	delete(got, fillerKey)
	if len(want) < 20 || !maps.Equal(got, want) {
		t.Errorf("it has published %v; with zcdp it publishes %v", got, want)
	}
	edit(t, cfg, "target: {absolute: 30}", "target: {absolute: 40}")
	mustRun(t, "change", "--config", cfg)
	mustRun(t, "status", "--config", cfg)
	mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m")
	if all := accountantsOn(t, recordsOf(t, c, "shop-control", 0)); !slices.Equal(all, []budgets.Accountant{budgets.RDP, budgets.RDP}) {
		t.Errorf("HEADER and GENERATION name %v", all)
	}
}

// No deployment begins with rdp: the error names what gives the same guarantee, and no topic is
// made.
func TestRuleNoDeploymentBeginsWithRDP(t *testing.T) {
	t.Parallel()
	const same = "zcdp gives the same guarantee"
	addr := broker(t)
	cfg := upgradeFile(t, addr)
	edit(t, cfg, "delta: 1e-6}", "delta: 1e-6, accountant: rdp}")
	input := upgradeEvents(t, 0, 1)
	for line, want := range map[string]int{
		"init --create-topics --event-partitions 1 --config " + cfg:                                            exitConfig,
		"demo --header --user-field who --key-field where --time-field when --accountant rdp --input " + input: exitUsage,
		"plan --header --user-field who --key-field where --time-field when --accountant rdp --input " + input: exitUsage,
		"budget releases --sigma 100 --accountant rdp":                                                         exitUsage,
		"budget convert --epsilon 1 --delta 1e-6 --accountant rdp":                                             exitUsage,
	} {
		code, _, stderr := run(t, strings.Fields(line)...)
		if code != want || strings.Count(stderr, same) != 1 {
			t.Errorf("%s: exit %d, %s", line, code, stderr)
		}
	}
	if _, err := kafkaAt(t, addr).Offsets(t.Context(), "shop-control", 0); !errors.Is(err, kafkalog.ErrUnknownTopic) {
		t.Errorf("init has made topics: %v", err)
	}
	for _, line := range []string{"validate --offline --config " + cfg, "plan --metric views --config " + cfg} {
		if _, _, stderr := run(t, strings.Fields(line)...); strings.Count(stderr, "warning:") != 1 || !strings.Contains(stderr, same) {
			t.Errorf("%s says %s", line, stderr)
		}
	}
	cfg, _ = (&dumped{}).onBroker(t) // topics, and no deployment on them
	edit(t, cfg, "delta: 1e-6}", "delta: 1e-6, accountant: rdp}")
	if code, _, stderr := run(t, "validate", "--config", cfg); code == exitOK || !strings.Contains(stderr, same) {
		t.Errorf("validate: exit %d, %s", code, stderr)
	}
}
