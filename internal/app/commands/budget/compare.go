package budget

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
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
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "accountant\tepsilon\tdelta")
	for i, v := range list {
		if v.NotApplicable != nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s", v.Accountant.Name(), number(v.Loss.Epsilon), number(v.Loss.Delta))
		if i == 0 {
			fmt.Fprint(w, "  tightest")
		}
		fmt.Fprintln(w)
	}
	writeNotApplicable(w, list)
}

// writeNotApplicable writes why accountants do not apply, of those that do not, and flushes w.
func writeNotApplicable(w *tabwriter.Writer, list []compose.Verdict) {
	for _, v := range list {
		if v.NotApplicable != nil {
			fmt.Fprintf(w, "%s\tdoes not apply: %s\n", v.Accountant.Name(), v.NotApplicable.Reason)
		}
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
}
