package commands

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
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
		Args: noArguments("--mechanism"),
	}
	c.register(cmd)
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		verdicts, err := compose.Compare(list, q)
		if err != nil {
			return err
		}
		if f == cli.JSON {
			return a.printVerdictsJSON(verdicts)
		}
		return a.printVerdicts(verdicts)
	})
	return cmd
}

// verdictRows returns verdicts as they stand in JSON.
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

func (a *app) printVerdictsJSON(list []compose.Verdict) error {
	text, err := json.Marshal(verdictRows(list))
	if err != nil {
		return fmt.Errorf("encoding accountants: %w", err)
	}
	if _, err := fmt.Fprintf(a.stdout, "%s\n", text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

func (a *app) printVerdicts(list []compose.Verdict) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][3]string{{"accountant", "epsilon", "delta"}}
	width := [2]int{}
	for i, v := range list {
		if v.NotApplicable != nil {
			continue
		}
		row := [3]string{v.Accountant.Name(), number(v.Loss.Epsilon), number(v.Loss.Delta)}
		if i == 0 {
			row[2] += "  tightest"
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		width = [2]int{max(width[0], len(row[0])), max(width[1], len(row[1]))}
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(a.stdout, "%-*s  %-*s  %s\n", width[0], row[0], width[1], row[1], row[2]); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return a.printNotApplicable(list, width[0])
}

// printNotApplicable prints why accountants do not apply, of those that do not.
func (a *app) printNotApplicable(list []compose.Verdict, width int) error {
	for _, v := range list {
		if v.NotApplicable == nil {
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%-*s  does not apply: %s\n", width, v.Accountant.Name(), v.NotApplicable.Reason); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
