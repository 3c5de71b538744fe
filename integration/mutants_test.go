package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// protocolMutants lists the mutants by function. If a function is renamed, only its line here
// changes.
func protocolMutants() []mutant {
	return []mutant{
		{"ack-not-awaited", "partialCounts.Wait", always("h.wait == nil"),
			"TestInvariant3NothingIsPublishedBeforeTheLedgerHoldsIt"},
		{"open-ignored", "readEnvelope", never("epoch != newest"), "TestRuleAnEngineRestoreIsARestart"},
		{"digest-unchecked", "Engine.applyOrDecide", never("BodyDigest()"), "TestRuleAChangedLogStopsTheRun"},
		{"last-charge-forgotten", "Engine.acquire", insertBefore("d, ok := deltas[turn]", notCharged),
			"TestInvariant5CrashBetweenTurns"},
		{"clip-unkeyed", "clipper.sortKeysByRank", replace("bytes.Compare(…)", "0"),
			everyMixedRecord},
		{"one-more-in-any-order", "water.raiseByOne", replace("bytes.Compare(…)", "0"), everyMixedRecord},
		{"records-beyond-the-allowance-in-any-order", "clipper.affordable", drop("c.rankRecords("),
			everyMixedRecord},
		{"suppressed-free", "Settlement.precisions", replace("s.firstRungs[w.Metric]", "units.Precision{Lo: 1}"),
			everyMixedRecord},
		{"snapshot-late", "Engine.snapshotRecords", replace("e.opts.Rules.LedgerSlots / 2",
			"2*e.opts.Rules.LedgerSlots"), "TestRuleOpenSlicesOutliveTheSlotsOfTheLedger"},
		{"charge-rounds-down", "units.chargeSquare", always("p0&"), everyMixedRecord},
		{"restart-at-cut", "partition.cut", never("restart != nil"), "TestInvariant5CrashBetweenTurns"},
		{"closed-early", "partition.watermark", replace("t.Slack+t.Lateness", "t.Slack"),
			"TestInvariant5EventsArriveWhileTurnsSettle"},
		{"settled-not-awaited", "Source.open", replace("settled + 1", "s.opened + 1"),
			"TestRuleADrainLeavesNothingUnsettled"},
		{"ledger-ignored", "Source.interrupted", never("decidedShards =="),
			"TestRuleAnInterruptedTurnIsRedoneFromTheLedger"},
		{"fence-skipped", "Fence.tryAcquire", replace("fmt.Sprintf(…)", `fmt.Sprintf("%p", new(int))`),
			"TestInvariant9AZombiePublishesNothing"},
		{"second-period-free", "shardAccounts.settleReservations", insertAfter("prices.cost(", freeAgain),
			everyMixedRecord},
		{"charged-by-the-end", "Source.readRecord", replace("e.Millis", endOfWindow),
			"TestRuleAWindowOverABoundaryIsChargedToBothPeriods"},
		{"open-slices-lost", "shardAccounts.snapshot", drop("append(s.Open"),
			"TestRuleOpenSlicesOutliveTheSlotsOfTheLedger"},
		{"debts-are-forgotten-at-a-change", "shardAccounts.carryDebts", never("index >= 0"),
			"TestRuleAChangeIsObeyedByEveryReplay"},
		{"windows-reach-over-a-change", "Turns.Ending", replace("t.start", "t.clock.Reading(t.Start)"),
			"TestRuleAChangeIsObeyedByEveryReplay"},
		{"periods-dropped-early", "shardAccounts.dropPeriods", insertAfter("LeastPeriod(",
			"if least > -1<<63 { least++ }"), everyMixedRecord},
		{"unreleased-keys-taken", "ladders.dependentTasks", never("Passed"), everyMixedRecord},
		{"reservation-forgotten", "Account.Left", insertBefore("fixed.Fits(", "a = &Account{Spent: a.Spent}"),
			"transforms/spend.TestRuleAdmissionReservesTheWholeWorstCase"},
		{"buckets-lose-the-worst-case", "shardAccounts.debit", insertBefore("a.store.SetDebt(", "actual = r.worst"),
			"transforms/spend.TestRuleATurnReservesItsWorstCase"},
		{"buckets-full-after-a-restore", "Engine.acquire", insertBefore("a.store.Restore(entry)", "entry.Debts = nil"),
			"transforms/spend.TestARestartAtAnyTurnFindsNoGap"},
		{"refilled-in-another-period", "shardAccounts.paid", replace("a.windows.Elapsed(w, period)",
			"a.windows.Elapsed(w, 0)"), everyMixedRecord},
		{"filled-above-the-burst", "Allowance.Take", replace("Lacks(debt, paid)", "debt - paid"),
			"state/accounts.TestRuleAnAllowanceIsATokenBucket"},
		{"values-unclamped", "clipper.collectRecords", replace("min(max(v.Value, m.bounds.Min), m.bounds.Max)",
			"v.Value"), everyMixedRecord},
		{"closed-without-the-others", "Source.hasPassed", never("!othersPassed"), readersTest},
		{"opened-without-the-others", "Source.compareCounts", never("!all"), readersTest},
		{"others-not-counted", "Source.recordsOf", replace("g.Each[turn]", "0"), readersTest},
		{"others-not-tallied", "Source.allTallies", drop("s.eachGroup("), readersTest},
		{"passed-before-it-is-read-again", "Source.writePassed", never("!s.caughtUp()"), readersTest},
		{"restart-without-marks", "GroupCut.For", never("m.Turn > turn"), readersTest},
		{"said-again-before-it-is-closed", "Source.writePassed", replace("s.lastPassed.turn <= s.closed", "true"),
			liveReadersTest},
		{"overtaken-not-by-what-was-said", "Source.isOvertaken", replace("s.lastPassed.turn", "0"),
			"TestRuleRecordsAfterAPassedAreOvertaken"},
		{"replaced-reader-heard", "View.IsMember", replace("newest == reader", "true"), readersSayTest},
		{"passed-counts-twice", "View.observePassed", always("p.Turn > g.Turn"), readersSayTest},
		{"passed-of-any-epoch", "View.observePassed", replace("v.inForce(p.Epoch)", "true"), readersSayTest},
		{"tallies-outlive-their-close", "View.observeClose", drop("g.Tallies ="), readersSayTest},
		{"others-ahead-forgotten", "Source.groupCut", insertBefore("return g", "g.Ahead = nil"),
			"TestRuleStampsAheadOfTheClockAreSoForEveryLaterReader"},
		{"ticks-without-turns", "Source.open", replace("v.Epoch + v.Turns", "v.Epoch"), readersTest},
		{"others-restart-at-cut", "Source.groupCut", never("m != nil"), lastPassedTest},
		{"spent-without-the-others", "readEnvelope", replace("open.Groups", "0"),
			"transforms/spend.TestAnEnvelopeWithoutOpenDoesNothing"},
		{"end-unheard", "Source.finished", replace("v.Ended != nil", "false"), readersTest},
		{"clipped-across-periods", "clipper.rank", replace("c.u.Period", "0"), everyMixedRecord},
		{"share-unclipped", "clipper.divide", replace("m.spec.MaxEventsPerKey", "m.spec.MaxEventsPerKey + 1"),
			everyMixedRecord},
		{"share-free", "prices.cost", insertBefore("return actual, nil", "if m.kind.Share { actual = 0 }"),
			everyMixedRecord},
		{"share-charged-for-one-key", "prices.cost", insertBefore("u := p.keys[window][k.key]",
			"if m.kind.Share && i > 0 { break }"), everyMixedRecord},
		{"share-reserved-for-one-key", "Rules.price", insertBefore("range kept", "if m.kind.Share { kept = kept[:1] }"),
			everyMixedRecord},
		{"left-out-forgotten", "retention.mark", insertBefore("n.entries[i] = true", "if i > 0 { continue }"),
			"TestInvariant5MixedForcedCacheMisses"},
		{"counted-forgotten-on-restore", "shardAccounts.reserve", drop("a.clip.counted[i] ="),
			"TestInvariant5MixedForcedCacheMisses"},
		{"third-component-free", "prices.cost", insertBefore("u := p.extra[window][j][k.key]",
			"if j == 1 { continue }"), everyMixedRecord},
		{"third-component-not-reserved", "Rules.price", insertBefore("units.Charge(size(n)",
			"if i%len(m.extra) == 1 { continue }"), everyMixedRecord},
		{"sums-beside-trees-free", "prices.cost", insertBefore("u := p.extra[window][j][k.key]",
			"if m.nodes >= 0 { continue }"), everyMixedRecord},
		{"sums-beside-trees-not-reserved", "Rules.price", insertBefore("units.Charge(size(n)",
			"if m.nodes >= 0 { continue }"), everyMixedRecord},
		{"number-beside-trees-free", "prices.cost", insertBefore("u := p.extra[window][j][k.key]",
			"if m.nodes >= 0 && j == len(m.extra)-1 { continue }"), everyMixedRecord},
		{"sums-beside-trees-over-the-first-number", "ladders.drawExtra", never(".Again"), everyMixedRecord},
		{"tree-not-reserved", "Rules.price", insertBefore("units.ChargeSquares(", "if len(selected) > 0 { continue }"),
			everyMixedRecord},
		{"first-level-only-charged", "drawnNodes.price", insertBefore("return drawn",
			"drawn = drawn && (parent == metrickind.Root || levels == 1)"), everyMixedRecord},
		{"first-eight-buckets-only-charged", "drawnNodes.price", insertBefore("return drawn",
			"drawn = drawn && (parent == metrickind.Root || levels > 1)"), everyMixedRecord},
		{"first-eight-buckets-only-settled", "Search.Drawn", insertBefore("range s.drawn",
			"if s.Scale.buckets() > 8 { return []Node{Root} }"), everyMixedRecord},
		{"edge-in-the-bucket-below", "Scale.Leaf", replace("s.Bucket(v)", "s.Bucket(max(v-1, s.min))"),
			everyMixedRecord},
		{"share-without-the-noise-of-its-buckets", "Search.Share", insertAfter("a, b, c :=", onlyTheOthersNoise),
			everyMixedRecord},
		{"logarithmic-steps-linear", "Logarithmic", replace("5", "64"), everyMixedRecord},
		{"events-of-a-node-not-squared", "Squares", replace("n * n", "n"), everyMixedRecord},
		{"nodes-drawn-with-one-noise", "nodes.draw", replace("schemas.NodeKey([]byte(n.cell.Key), node)",
			"[]byte(n.cell.Key)"), everyMixedRecord},
		{"nodes-drawn-more-exactly", "ladders.search", insertAfter("ExtraPrecision(", "u.Lo <<= 1"),
			everyMixedRecord},
		{"nodes-of-ends-not-settled", "Search.Drawn", insertBefore("range s.drawn",
			"if len(s.drawn) > 2 { return []Node{Root} }"), everyMixedRecord},
		{"intervals-of-one-level", "newTree", replace("t.scale.Levels()", "1"), everyMixedRecord},
		{"forgotten-users-return", "Engine.acquire", insertBefore("a.reopen(", "a.forgotten = nil"), forgottenTest},
		{"ledger-in-clear", "LedgerSeal.applyKeystream", insertBefore("XORKeyStream(", "if s.shard >= 0 { return }"),
			forgottenTest},
		{"noise-of-another-metric", "ladders.identity", replace("l.digests[c.Metric]", "l.digests[0]"),
			everyMixedRecord},
	}
}

// Tests that catch several mutants. The tests of readers have several READs in every run.
const (
	readersTest      = "TestInvariant5SeveralReadersEqualTheReference"
	liveReadersTest  = "TestInvariant6SeveralReadersOfLiveEvents"
	lastPassedTest   = "TestInvariant5ARunBeginsAfterTheLastTurnThatReadersHavePassed"
	everyMixedRecord = "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"
	readersSayTest   = "pipeline/internal/controllog.TestRuleWhatTheProcessesOfARunSayCountsWhereItBelongsOnly"
	forgottenTest    = "TestRuleAForgottenUserIsNowhereAndSpendsNothing"
)

// Code of mutants that is too long for their lines.
const (
	// the last settled turn charges the turns before it, but is not charged itself
	notCharged = `if turn == settled { if err := e.chargeDecided(ctx, n, a); err != nil { return err }; a.turn = ` +
		`settled; ` +
		`break }`
	// a user's second period pays nothing
	freeAgain = `if i > 0 && list[i-1].id == list[i].id && list[i-1].period != list[i].period { actual = 0 }`
	// the end of a window of 30 s
	endOfWindow = `e.Millis + 29_999 - e.Millis%30_000`
	// the interval of a share, with the variance without (1 − s)²·n
	onlyTheOthersNoise = `a, b, c = s.coefficient(all, all, s.Scale.buckets()-(end-first)), s.coefficient(in, all, ` +
		`0), s.coefficient(in, in, 0)`
)

// located returns the directory and the name of a test: "transforms/spend.Test…", or one of this
// package.
func located(test string) (dir, name string) {
	if dir, name, elsewhere := strings.Cut(test, "."); elsewhere {
		return filepath.Join("..", dir), name
	}
	return ".", test
}

func TestMutantsOfTheProtocolAreCaught(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	description := must.Have(overlay("..", dir, protocolMutants()))
	for _, m := range protocolMutants() {
		in, test := located(m.caught)
		if out, err := exec.Command("grep", "-rl", "--include=*_test.go", "^func "+test+"(", in).Output(); err != nil ||
			len(out) == 0 {
			t.Errorf("mutant %s: there is no test %s", m.name, m.caught)
		}
	}
	if !long.On() {
		return // building and running them takes a minute or two
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which builds the mutants, is not in the path")
	}
	binaries := map[string]string{}
	for _, m := range protocolMutants() {
		in, _ := located(m.caught)
		if binaries[in] != "" {
			continue
		}
		binaries[in] = filepath.Join(dir, fmt.Sprint("mutants", len(binaries), ".test"))
		build := exec.Command("go", "test", "-c", "-overlay", description, "-o", binaries[in],
			"./"+filepath.ToSlash(in))
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building the mutants: %v\n%s", err, out)
		}
	}
	run := func(t *testing.T, name, test, patience string, try int) ([]byte, error) {
		t.Helper()
		in, test := located(test)
		cmd := exec.Command(binaries[in], "-test.timeout", "3m", "-test.run", "^"+test+"$")
		cmd.Dir = in
		cmd.Env = append(os.Environ(), long.Variable+"=", mutantVariable+"="+name, patienceVariable+"="+patience)
		if try > 0 { // the same seed would draw the same case
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s/%d", runseed.Variable, os.Getenv(runseed.Variable), try))
		}
		cmd.WaitDelay = time.Second
		return cmd.CombinedOutput()
	}
	for _, m := range protocolMutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var out []byte
			var err error
			for try := 0; err == nil && try < 12; try++ { // with several READs, a run depends on which is first
				out, err = run(t, m.name, m.caught, "15s", try)
			}
			if err == nil {
				t.Fatalf("%s did not catch it in twelve runs:\n%s", m.caught, out)
			}
			t.Logf("caught by %s: %s", m.caught, firstFinding(string(out)))
		})
	}
	tests := map[string]bool{}
	for _, m := range protocolMutants() {
		tests[m.caught] = true
	}
	for test := range tests {
		t.Run("none of them in "+test, func(t *testing.T) {
			t.Parallel()
			if out, err := run(t, "", test, "1m", 0); err != nil {
				t.Errorf("%s fails with every mutant switched off: %v\n%s", test, err, out)
			}
		})
	}
}

// firstFinding returns the first failure in a test's output.
func firstFinding(out string) string {
	for l := range strings.Lines(out) {
		if strings.Contains(l, "_test.go:") {
			return strings.TrimSpace(l[:min(len(l), 300)])
		}
	}
	return "no finding"
}
