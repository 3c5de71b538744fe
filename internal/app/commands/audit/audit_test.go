package audit

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// A difference counts for more than what could not be checked.
func TestTheExitCodeIsTheWorstFinding(t *testing.T) {
	unchecked := []audit.Unchecked{{What: "events are deleted"}}
	for want, r := range map[int]*audit.Report{
		command.ExitOK:        {},
		command.ExitUnchecked: {Unchecked: unchecked},
		command.ExitDiffers:   {Unchecked: unchecked, Differs: 1},
	} {
		if code := command.ExitCode(verdict(r)); code != want {
			t.Errorf("%d differences, %d unchecked: exit code %d, want %d", r.Differs, len(r.Unchecked), code, want)
		}
	}
}
