package budget

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/state/compose"
)

// verdict is a compose.Verdict in JSON: two numbers, or the reason why the accountant does not
// apply.
type verdict struct {
	Epsilon    *float64 `json:"epsilon,omitempty"`
	Delta      *float64 `json:"delta,omitempty"`
	Accountant string   `json:"accountant"`
	Reason     string   `json:"reason,omitempty"`
}

func (a *app) budgetCompare() *cobra.Command {
	var (
		c composition
		f cli.Format
	)
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare what several mechanisms cost by each accountant",
		Long: `Print the (epsilon, delta) of several mechanisms on the same data by every accountant,
the tightest first, and why the other accountants do not apply.

` + mechanismHelp,
		Example: `  tollgate budget compare --mechanism gaussian:sigma=100:count=500 --delta 1e-6
  tollgate budget compare --mechanism laplace:scale=10:count=30 --epsilon 1 --format json`,
		Args: command.NoArguments("--mechanism"),
	}
	c.register(cmd)
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		verdicts, err := compose.Compare(list, q)
		if err != nil {
			return err
		}
		return a.printVerdicts(f, verdicts)
	})
	return cmd
}

// verdictRows returns verdicts as JSON has them.
func verdictRows(list []compose.Verdict) (rows []verdict) {
	for _, v := range list {
		row := verdict{Accountant: v.Accountant.Name()}
		if v.NotApplicable != nil {
			row.Reason = v.NotApplicable.Reason
		} else {
			row.Epsilon, row.Delta = &v.Loss.Epsilon, &v.Loss.Delta
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *app) printVerdicts(f cli.Format, list []compose.Verdict) error {
	return a.PrintAs(f, verdictRows(list), func(b *strings.Builder) { writeVerdicts(b, list) })
}

func writeVerdicts(b *strings.Builder, list []compose.Verdict) {
	rows, refused := [][]string{{"accountant", "epsilon", "delta"}}, [][]string(nil)
	for i, v := range list {
		if v.NotApplicable != nil {
			refused = append(refused, []string{v.Accountant.Name(), doesNotApply(v)})
			continue
		}
		row := []string{v.Accountant.Name(), fmt.Sprint(v.Loss.Epsilon), fmt.Sprint(v.Loss.Delta)}
		if i == 0 {
			row[2] += "  tightest"
		}
		rows = append(rows, row)
	}
	b.WriteString(words.Table(append(rows, refused...)...))
}

// doesNotApply says why an accountant does not apply.
func doesNotApply(v compose.Verdict) string { return "does not apply: " + v.NotApplicable.Reason }
