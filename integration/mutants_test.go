package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A mutant is the protocol with one rule left out. It is made by editing copies of the product's files, which `go test -overlay`
// puts in place of the files themselves; a test named here must then fail.
type mutant struct {
	name      string
	file      string // below the module's root
	old, with string // MUTANT in with stands for the condition that the mutant is switched on
	caught    string // the test
}

func mutants() []mutant {
	return []mutant{
		{"ack-not-awaited", "transforms/spend/engine.go",
			"	if h.wait == nil {", "	if h.wait == nil || MUTANT {",
			"TestInvariant3NothingIsPublishedBeforeTheLedgerHoldsIt"},
		{"open-ignored", "transforms/spend/engine.go",
			"		if epoch != newest {", "		if epoch != newest && !MUTANT {",
			"TestRuleAnEngineRestoreIsARestart"},
		{"digest-unchecked", "transforms/spend/engine.go",
			"	if found != nil && found.BodyDigest()", "	if found != nil && !MUTANT && found.BodyDigest()",
			"TestRuleAChangedLogStopsTheRun"},
		{"last-charge-forgotten", "transforms/spend/prepare.go",
			"	for turn := snapshot.Turn + 1; turn <= settled; turn++ {",
			`	for turn := snapshot.Turn + 1; turn <= settled; turn++ {
				if MUTANT && turn == settled {
					if err := e.charge(ctx, n, b); err != nil {
						return err
					}
					b.turn = settled
					break
				}`,
			"TestInvariant5CrashBetweenTurns"},
		{"clip-unkeyed", "transforms/spend/clip.go",
			"slices.SortFunc(c.own, func(a, b ownKey) int { return bytes.Compare(a.rank[:], b.rank[:]) })",
			"slices.SortFunc(c.own, func(a, b ownKey) int { return bytes.Compare(a.rank[:ranked()], b.rank[:ranked()]) })",
			"TestInvariant6EveryRecordIsAccountedFor"},
		{"hold-forgotten", "state/account.go",
			"	sum, ok := a.Spent.Add(a.Held)", "	held := a.Held\n	if MUTANT {\n		held = 0\n	}\n	sum, ok := a.Spent.Add(held)",
			"TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"delta-free", "state/account.go",
			"	a.Keys, _ = a.Keys.Add(d)\n", "	if !MUTANT {\n		a.Keys, _ = a.Keys.Add(d)\n	}\n",
			"TestRuleAKeyOfUnadmittedUsersDoesNotExist"},
		{"suppressed-free", "transforms/spend/book.go",
			"		return s.firstRungs[p.Metric]", "		if MUTANT {\n			return state.Precision{Lo: 1}\n		}\n		return s.firstRungs[p.Metric]",
			"TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"snapshot-late", "transforms/spend/prepare.go",
			"	period := e.opts.Rules.LedgerSlots / 2", "	period := e.opts.Rules.LedgerSlots / 2\n	if MUTANT {\n		period *= 4\n	}",
			"TestRuleSnapshotsCarryWhatDeltasNoLongerHold"},
		{"charge-rounds-down", "state/numbers.go",
			"	if p0&(1<<mu2Bits-1) == 0 {", "	if MUTANT || p0&(1<<mu2Bits-1) == 0 {",
			"TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"restart-at-cut", "pipeline/partition.go",
			"	if restart != nil {", "	if restart != nil && !MUTANT {",
			"TestInvariant5CrashBetweenTurns"},
		{"closed-early", "pipeline/partition.go",
			"t.Slack+t.Lateness)", "t.Slack+early(t.Lateness))",
			"TestInvariant5EventsArriveWhileTurnsSettle"},
		{"settled-not-awaited", "pipeline/reader.go",
			"	turn := settled + 1\n	if r.opened >= turn ||", "	turn := settled + 1\n	if MUTANT {\n		turn = r.opened + 1\n	}\n	if r.opened >= turn ||",
			"TestRuleADrainLeavesNothingUnsettled"},
		{"ledger-ignored", "pipeline/start.go",
			"	if have == r.dep.cfg.Shards {", "	if have == r.dep.cfg.Shards && !MUTANT {",
			"TestRuleAnInterruptedTurnIsRedoneFromTheLedger"},
		{"fence-skipped", "pipeline/ledger.go",
			`fmt.Sprintf("%s%d", f.prefix, partition))`, `unfenced(fmt.Sprintf("%s%d", f.prefix, partition)))`,
			"TestInvariant9AZombiePublishesNothing"},
		{"coverage-not-held", "transforms/spend/rules.go",
			"	if m.coverage >= 0 {\n		charge, fits := state.Charge(1, r.metrics", "	if m.coverage >= 0 && !MUTANT {\n		charge, fits := state.Charge(1, r.metrics",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"second-period-free", "transforms/spend/book.go",
			"			actual, err := prices.of(t)\n",
			"			actual, err := prices.of(t)\n			if MUTANT && i > 0 && d.stakes[i-1].id == t.id && d.stakes[i-1].period != t.period {\n				actual = 0\n			}\n",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"charged-by-the-end", "pipeline/poll.go",
			"r.fates.turns.periodOf(e.Millis),", "r.fates.turns.periodOf(e.Millis + windowOf(e.Millis)),",
			"TestRuleAWindowOverABoundaryIsChargedToBothPeriods"},
		{"open-slices-lost", "transforms/spend/checkpoint.go",
			"		s.Open = append(s.Open, o.data)", "		if !MUTANT {\n			s.Open = append(s.Open, o.data)\n		}",
			"TestRuleOpenSlicesOutliveTheSlotsOfTheLedger"},
		{"filters-not-renumbered", "transforms/spend/windows.go",
			"		b.rules.inherited(&o)\n", "		if !MUTANT {\n			b.rules.inherited(&o)\n		}\n",
			"TestRuleAChangeIsObeyedByEveryReplay"},
		{"periods-dropped-early", "transforms/spend/book.go",
			"	least := b.windows.LeastPeriod(b.turn)\n", "	least := b.windows.LeastPeriod(b.turn)\n	if MUTANT && least > math.MinInt64 {\n		least++\n	}\n",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"unreleased-keys-taken", "transforms/ladders.go",
			"		if !t.passed {\n			continue\n		}\n		for m := range", "		if !t.passed && !MUTANT {\n			continue\n		}\n		for m := range",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"joint-unheld", "transforms/spend/engine.go",
			"		d, err := e.decide(n, s, open, turn, batches)\n",
			`		give := func(earlier []decision, back bool) { // the holds of the joint's turns before
				for _, d := range earlier {
					for _, t := range d.stakes {
						a, _ := s.book.accounts.Get(t.id, t.period)
						if a.Held += t.worst; back {
							a.Held -= 2 * t.worst
						}
						_ = s.book.put(t.id, t.period, a)
					}
				}
			}
			earlier := s.book.decided
			if MUTANT {
				give(earlier, true)
			}
			d, err := e.decide(n, s, open, turn, batches)
			if MUTANT {
				give(earlier, false)
			}
`,
			"TestRuleAJointHoldsTheWorstCaseOfAllItsTurns"},
		{"joint-charged-as-one-turn", "transforms/spend/book.go",
			"	for len(b.decided) > 0 && b.first() <= s.Turn {\n",
			"	if n := len(b.decided); MUTANT && n > 1 {\n		b.decided = b.decided[n-1:]\n	}\n	for len(b.decided) > 0 && b.first() <= s.Turn {\n",
			"TestInvariant5MixedJointsEqualTheReference"},
		{"values-unclamped", "transforms/spend/clip.go",
			"min(max(v.Value, m.spec.Min), m.spec.Max)", "clamped(v.Value, m.spec.Min, m.spec.Max)",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"clipped-across-periods", "transforms/spend/clip.go",
			"c.hasher.ClipRank(m.rank, u.ID, u.Period,", "c.hasher.ClipRank(m.rank, u.ID, inPeriod(u.Period),",
			"TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
	}
}

// mutantVariable names the mutant that is switched on: all of them are in one build.
const mutantVariable = "TOLLGATE_MUTANT"

// mutantHelpers are added to the packages that are edited.
const mutantHelpers = `package %s

import "os"

func mutated(name string) bool { return os.Getenv("TOLLGATE_MUTANT") == name }

func ranked() int {
	if mutated("clip-unkeyed") {
		return 0
	}
	return 16
}

func early(lateness int64) int64 {
	if mutated("closed-early") {
		return 0
	}
	return lateness
}

func clamped(value, low, high int64) int64 {
	if mutated("values-unclamped") {
		return value
	}
	return min(max(value, low), high)
}

func inPeriod(period int64) int64 {
	if mutated("clipped-across-periods") {
		return 0
	}
	return period
}

// windowOf is the way to the end of a window of 30 s.
func windowOf(millis int64) int64 {
	if mutated("charged-by-the-end") {
		return 29_999 - millis%%30_000
	}
	return 0
}

func unfenced(id string) string {
	if mutated("fence-skipped") {
		return ""
	}
	return id
}
`

// overlay edits the files and describes the replacement for the go command. Every edit must apply exactly once, so that no mutant
// goes missing when the product changes.
func overlay(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range mutants() {
		path := filepath.Join(root, m.file)
		if _, read := files[path]; !read {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = string(content)
		}
		if n := strings.Count(files[path], m.old); n != 1 {
			t.Errorf("mutant %s: the text that it replaces stands %d times in %s", m.name, n, m.file)
		}
		with := strings.ReplaceAll(m.with, "MUTANT", fmt.Sprintf("mutated(%q)", m.name))
		files[path] = strings.Replace(files[path], m.old, with, 1)
		folder := filepath.Dir(path)
		files[filepath.Join(folder, "mutated.go")] = fmt.Sprintf(mutantHelpers, filepath.Base(folder))
	}
	replace := map[string]string{}
	for path, content := range files {
		edited := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, root), string(filepath.Separator), "_"))
		if err := os.WriteFile(edited, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = edited
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	description := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(description, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return description
}

func TestMutantsOfTheProtocolAreCaught(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	description := overlay(t, dir)
	if testing.Short() || t.Failed() {
		return // building and running them takes a minute or two
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which builds the mutants, is not in the path")
	}
	binary := filepath.Join(dir, "mutants.test")
	build := exec.Command("go", "test", "-c", "-overlay", description, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the mutants: %v\n%s", err, out)
	}
	run := func(t *testing.T, name, test, patience string) ([]byte, error) {
		t.Helper()
		cmd := exec.Command(binary, "-test.short", "-test.timeout", "3m", "-test.run", "^"+test+"$")
		cmd.Env = append(os.Environ(), mutantVariable+"="+name, patienceVariable+"="+patience)
		cmd.WaitDelay = time.Second
		return cmd.CombinedOutput()
	}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, m.name, m.caught, "15s")
			if err == nil {
				t.Fatalf("%s did not catch it:\n%s", m.caught, out)
			}
			t.Logf("caught by %s: %s", m.caught, firstFinding(string(out)))
		})
	}
	tests := map[string]bool{}
	for _, m := range mutants() {
		tests[m.caught] = true
	}
	for test := range tests {
		t.Run("none of them in "+test, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, "", test, "1m"); err != nil {
				t.Errorf("%s fails with every mutant switched off: %v\n%s", test, err, out)
			}
		})
	}
}

// firstFinding is the first line of a test's output that says what was wrong.
func firstFinding(out string) string {
	for l := range strings.Lines(out) {
		if strings.Contains(l, "_test.go:") {
			return strings.TrimSpace(l[:min(len(l), 300)])
		}
	}
	return "no finding"
}
