package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/mutants"
)

// A mutant is the protocol with one rule left out; the test that is named here must then fail.
type mutant struct {
	name, in string
	change   mutants.Change
	caught   string
}

// protocolMutants are found by function (package mutants says how): where one is renamed, its line
// here is what changes.
func protocolMutants() []mutant {
	return []mutant{
		{"ack-not-awaited", "handover.Wait", mutants.Always("h.wait == nil"), "TestInvariant3NothingIsPublishedBeforeTheLedgerHoldsIt"},
		{"open-ignored", "readEnvelope", mutants.Never("epoch != newest"), "TestRuleAnEngineRestoreIsARestart"},
		{"digest-unchecked", "Engine.decide", mutants.Never("BodyDigest()"), "TestRuleAChangedLogStopsTheRun"},
		{"last-charge-forgotten", "Engine.take", mutants.Before("d, ok := deltas[turn]", notCharged), "TestInvariant5CrashBetweenTurns"},
		{"clip-unkeyed", "clipper.leastRanks", mutants.Value("bytes.Compare(…)", "0"), "TestInvariant6EveryRecordIsAccountedFor"},
		{"reservation-forgotten", "Account.Fits", mutants.Value("a.Reserved", "0"), "TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"delta-free", "Account.Reserve", mutants.Drop("a.Keys.Add("), "TestRuleAKeyOfUnadmittedUsersDoesNotExist"},
		{"suppressed-free", "Settlement.precisions", mutants.Value("s.firstRungs[w.Metric]", "units.Precision{Lo: 1}"), "TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"snapshot-late", "Engine.snapshotRecords", mutants.Value("e.opts.Rules.LedgerSlots/2", "2 * e.opts.Rules.LedgerSlots"), "TestRuleSnapshotsCarryWhatDeltasNoLongerHold"},
		{"charge-rounds-down", "units.Charge", mutants.Always("p0&"), "TestInvariant5SameOutputForAllPartitionsAndShards"},
		{"restart-at-cut", "partition.cut", mutants.Never("restart != nil"), "TestInvariant5CrashBetweenTurns"},
		{"closed-early", "partition.watermark", mutants.Value("t.Slack + t.Lateness", "t.Slack"), "TestInvariant5EventsArriveWhileTurnsSettle"},
		{"settled-not-awaited", "Source.open", mutants.Value("settled + 1", "s.opened + 1"), "TestRuleADrainLeavesNothingUnsettled"},
		{"ledger-ignored", "Source.interrupted", mutants.Never("have =="), "TestRuleAnInterruptedTurnIsRedoneFromTheLedger"},
		{"fence-skipped", "Fence.tryAcquire", mutants.Value("fmt.Sprintf(…)", `fmt.Sprintf("%p", new(int))`), "TestInvariant9AZombiePublishesNothing"},
		{"coverage-not-reserved", "Rules.price", mutants.Never("m.coverage >= 0"), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"second-period-free", "shardAccounts.chargeTurn", mutants.After("prices.of(", freeAgain), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"charged-by-the-end", "Source.readRecord", mutants.Value("e.Millis", endOfWindow), "TestRuleAWindowOverABoundaryIsChargedToBothPeriods"},
		{"open-slices-lost", "shardAccounts.snapshot", mutants.Drop("append(s.Open"), "TestRuleOpenSlicesOutliveTheSlotsOfTheLedger"},
		{"filters-not-renumbered", "shardAccounts.since", mutants.Drop("inherited("), "TestRuleAChangeIsObeyedByEveryReplay"},
		{"periods-dropped-early", "shardAccounts.dropPeriods", mutants.After("LeastPeriod(", "if least > -1<<63 { least++ }"), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"unreleased-keys-taken", "ladders.following", mutants.Never("Passed"), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"span-unreserved", "Engine.decideSpan", mutants.All(mutants.Before("e.decide(", earlierReservations("-")), mutants.After("e.decide(", earlierReservations("+"))), "TestRuleASpanHoldsTheWorstCaseOfAllItsTurns"},
		{"span-charged-as-one-turn", "shardAccounts.charge", mutants.Before("a.first() <= s.Turn", onlyTheLast), "TestInvariant5MixedSpansEqualTheReference"},
		{"values-unclamped", "clipper.sum", mutants.Value("min(max(v.Value, m.spec.Min), m.spec.Max)", "v.Value"), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
		{"closed-without-the-others", "Source.hasPassed", mutants.Never("!others"), readersTest},
		{"opened-without-the-others", "Source.compareCounts", mutants.Never("!all"), readersTest},
		{"others-not-counted", "Source.closeOf", mutants.Drop("records += s.otherRecords(turn)"), readersTest},
		{"others-not-tallied", "Source.allTallies", mutants.Drop("s.eachGroup("), readersTest},
		{"passed-before-it-is-read-again", "Source.writePassed", mutants.Never("!s.caughtUp()"), readersTest},
		{"restart-without-marks", "GroupCut.For", mutants.Never("m.Turn > turn"), readersTest},
		{"said-again-before-it-is-closed", "Source.writePassed", mutants.Value("s.lastPassed.turn <= s.closed", "true"), liveReadersTest},
		{"overtaken-not-by-what-was-said", "Source.isOvertaken", mutants.Value("s.lastPassed.turn", "0"), "TestRuleRecordsAfterAPassedAreOvertaken"},
		{"replaced-reader-heard", "View.TakesPart", mutants.Value("at == reader", "true"), replacedReaderTest},
		{"passed-counts-twice", "View.observePassed", mutants.Always("p.Turn > g.Turn"), replacedReaderTest},
		{"passed-of-any-epoch", "View.observePassed", mutants.Value("v.inForce(p.Epoch)", "true"), replacedReaderTest},
		{"tallies-outlive-their-close", "View.observeClose", mutants.Drop("g.Tallies ="), lastPassedTest},
		{"others-ahead-forgotten", "Source.groupCut", mutants.Before("return g", "g.Ahead = nil"), "TestRuleStampsAheadOfTheClockAreSoForEveryLaterReader"},
		{"ticks-without-spans", "Source.open", mutants.Value("v.Epoch + v.Spans", "v.Epoch"), readersTest},
		{"others-restart-at-cut", "Source.groupCut", mutants.Never("m != nil"), lastPassedTest},
		{"others-in-no-span", "Source.otherRecords", mutants.Value("g.Each[turn]", "0"), "TestInvariant5SpansOfSeveralReadersEqualTheReference"},
		{"spent-without-the-others", "readEnvelope", mutants.Value("open.Groups", "0"), "TestInvariant6ATurnIsSpentWithWhatEveryReaderHas"},
		{"at-the-end-without-tallies", "Source.writePassed", mutants.Value("s.tallies.Read > 0", "false"), "TestInvariant6ABoundedRunTalliesWhatEveryReaderReads"},
		{"end-unheard", "Source.finished", mutants.Value("v.Ended != nil", "false"), readersTest},
		{"clipped-across-periods", "clipper.leastRanks", mutants.Value("u.Period", "0"), "TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor"},
	}
}

// Tests that have several READs in every run.
const (
	readersTest        = "TestInvariant5SeveralReadersEqualTheReference"
	liveReadersTest    = "TestInvariant6SeveralReadersOfLiveEvents"
	lastPassedTest     = "TestInvariant5ARunBeginsAfterTheLastTurnThatReadersHavePassed"
	replacedReaderTest = "TestInvariant9WhatReplacedReadersSayChangesNothing"
)

// Code of mutants that is too long for their lines.
const (
	// the last settled turn is charged for those before it, and not taken up itself
	notCharged = `if turn == settled { if err := e.charge(ctx, n, a); err != nil { return err }; a.turn = settled; break }`
	// a user's second period pays nothing
	freeAgain = `if i > 0 && list[i-1].id == list[i].id && list[i-1].period != list[i].period { actual = 0 }`
	// the end of a window of 30 s
	endOfWindow = `e.Millis + 29_999 - e.Millis%30_000`
	// of the turns settled together, only the last one is charged
	onlyTheLast = `if n := len(a.decided); n > 1 { a.decided = a.decided[n-1:] }`
)

// earlierReservations takes what the turns that were decided before have reserved together out of
// the accounts ("-"), or puts it back ("+"), when one more may have been decided.
func earlierReservations(sign string) string {
	earlier := "s.accounts.decided"
	if sign == "+" {
		earlier += "[:max(0, len(s.accounts.decided)-1)]"
	}
	return "for _, d := range " + earlier + " { for _, t := range d.reservations.list {" +
		" a, _ := s.accounts.store.Get(t.id, t.period); a.Reserved " + sign + "= t.worst; _ = s.accounts.store.Put(t.id, t.period, a) } }"
}

func TestMutantsOfTheProtocolAreCaught(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var list []mutants.Mutant
	for _, m := range protocolMutants() {
		list = append(list, mutants.Mutant{Name: m.name, In: m.in, Change: m.change})
	}
	description, err := mutants.Overlay("..", dir, list)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
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
		cmd.Env = append(os.Environ(), mutants.Variable+"="+name, patienceVariable+"="+patience)
		cmd.WaitDelay = time.Second
		return cmd.CombinedOutput()
	}
	for _, m := range protocolMutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, m.name, m.caught, "15s")
			for range 5 { // what several READs do in one run depends on who is first
				if err == nil {
					out, err = run(t, m.name, m.caught, "15s")
				}
			}
			if err == nil {
				t.Fatalf("%s did not catch it in six runs:\n%s", m.caught, out)
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
			if out, err := run(t, "", test, "1m"); err != nil {
				t.Errorf("%s fails with every mutant switched off: %v\n%s", test, err, out)
			}
		})
	}
}

// firstFinding returns the first line of a test's output that says what was wrong.
func firstFinding(out string) string {
	for l := range strings.Lines(out) {
		if strings.Contains(l, "_test.go:") {
			return strings.TrimSpace(l[:min(len(l), 300)])
		}
	}
	return "no finding"
}
