package status

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func text(t *testing.T, output string, data any) string {
	got, err := command.Text(command.Template(output), data)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Dead letters are said coarsely, from ten on.
func TestStatusSaysCoarselyHowManyRecordsAreDeadLetters(t *testing.T) {
	t.Parallel()
	for level, want := range map[pipeline.DeadLetterLevel]string{
		"none": "", "few": "broken      a few, fewer than one in a hundred, of the records of the last 8 turns: " +
			"topic letters has them",
		"some": "broken      some, at least one in a hundred, of the records",
		"most": "broken      more than half of the records",
	} {
		got := text(t, statusOutput, statusText{&pipeline.Status{DeadLetters: level, DeadLetterTurns: 8}, "letters",
			time.Now()})
		if !strings.Contains(got, want) || (want == "") == strings.Contains(got, "broken") {
			t.Errorf("%s: %s", level, got)
		}
	}
}

// A promise to a user for one period is not described as if it were for ever.
func TestRuleStatusSaysInWhichPeriodThePromiseHolds(t *testing.T) {
	t.Parallel()
	got := text(t, statusOutput, statusText{&pipeline.Status{Epsilon: 4, Delta: 1e-6, PeriodSeconds: 2419200}, "",
		time.Now()})
	if !strings.Contains(got, "(4, 1e-06)-differential privacy for a user in one period of 28d\n") {
		t.Error(got)
	}
}

func TestForgetSaysThatAUserHadNoAccount(t *testing.T) {
	t.Parallel()
	for accounts, want := range map[int]string{0: "removed    no account, as the user has none, and",
		2: "removed    2 accounts of the user and"} {
		got := text(t, forgetOutput, &pipeline.Forgotten{Accounts: accounts, Tombstones: 7})
		if !strings.Contains(got, want) || !strings.Contains(got, "7 records of the ledger") {
			t.Errorf("%d accounts: %s", accounts, got)
		}
	}
}
