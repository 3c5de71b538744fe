package commands

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/compose"
)

// Flags, help texts, the allowed values of a configuration and the documentation name
// the accountants of the table in state/compose, and no others.
func TestFlagsAndDocumentationNameTheSameAccountants(t *testing.T) {
	t.Parallel()
	keepers := budgets.AccountantNames()
	quoted := "`" + strings.Join(keepers, "`, `") + "`"
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	flag := strings.ReplaceAll(strings.ReplaceAll(spelling.List(keepers, " or "), ", ", "`, `"), " or ", "` or `")
	for _, row := range []string{"| `--accountant` | `" + flag + "` | `gdp` |", "| `privacy.accountant` | " + quoted + " | `gdp` |"} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/configuration.md does not say %q", row)
		}
	}
	for command, names := range map[string][]string{
		"demo": keepers, "budget releases": keepers, "budget convert": keepers, "budget compose": compose.Names(),
	} {
		_, help, _ := run(t, append(strings.Fields(command), "--help")...)
		if !strings.Contains(help, "--accountant "+strings.Join(names, "|")+" ") {
			t.Errorf("%s --help does not say that --accountant is %s", command, strings.Join(names, "|"))
		}
		for _, name := range names {
			if n := len(regexp.MustCompile(`\b`+name+`\b`).FindAllString(help, -1)); n < 2 {
				t.Errorf("%s --help names %s in the flag's type only", command, name)
			}
		}
		code, _, stderr := run(t, append(strings.Fields(command), "--accountant", "moments")...)
		if code != exitUsage || !strings.Contains(stderr, "must be "+spelling.List(names, " or ")) {
			t.Errorf("%s: exit %d, %q does not say %q", command, code, stderr, spelling.List(names, " or "))
		}
	}
	_, err = budgets.ParseAccountant("moments")
	if err == nil || !strings.Contains(err.Error(), strings.Join(keepers, ", ")) {
		t.Errorf("package budgets says %v", err)
	}
	for _, name := range keepers {
		for _, command := range []string{"budget releases --sigma 100", "budget convert --epsilon 1 --delta 1e-6"} {
			if code, _, stderr := run(t, append(strings.Fields(command), "--accountant", name)...); code != exitOK {
				t.Errorf("%s by %s: exit %d, %s", command, name, code, stderr)
			}
		}
	}
}
