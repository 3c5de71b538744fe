package budget

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

func TestBudgetCalibrateGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"budget_calibrate.golden": "budget calibrate --epsilon 1 --delta 1e-6 --releases 560",
		"budget_calibrate_json.golden": "budget calibrate --epsilon 1 --delta 1e-6 --releases 365 --contribution 20 " +
			"--format json",
	} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != command.ExitOK || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", args, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}
