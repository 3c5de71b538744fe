package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
)

// verdict is what one accountant says: two numbers, or why it says nothing.
type verdict struct {
	Epsilon    *float64 `json:"epsilon,omitempty"`
	Delta      *float64 `json:"delta,omitempty"`
	Accountant string   `json:"accountant"`
	Reason     string   `json:"reason,omitempty"`
}

func (a *app) budgetCompare() *cobra.Command {
	var (
		c composition
		f format
	)
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "What each accountant says that several mechanisms cost",
		Long: `Print what every accountant says about several mechanisms on the same data, the
tightest first, and why others do not apply.

` + mechanismHelp,
		Example: `  runner budget compare --mechanism gaussian:sigma=100:count=500 --delta 1e-6
  runner budget compare --mechanism laplace:scale=10:count=30 --epsilon 1 --format json`,
		Args: cobra.NoArgs,
	}
	c.register(cmd)
	formatFlag(cmd, &f)
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		verdicts, err := compare(list, q)
		if err != nil {
			return err
		}
		if f == formatJSON {
			return a.printVerdictsJSON(verdicts)
		}
		return a.printVerdicts(verdicts)
	})
	return cmd
}

// compare asks every accountant. The tightest comes first, those that do not
// apply last.
func compare(list []mechanism, q question) ([]verdict, error) {
	var said, unsaid []verdict
	for _, b := range bookkeepers() {
		answer, err := b.ask(list, q)
		var none *silent
		switch {
		case errors.As(err, &none):
			unsaid = append(unsaid, verdict{Accountant: b.name, Reason: none.reason})
		case err != nil:
			return nil, err
		default:
			epsilon, delta := q.with(answer)
			said = append(said, verdict{Epsilon: &epsilon, Delta: &delta, Accountant: b.name})
		}
	}
	slices.SortStableFunc(said, func(x, y verdict) int {
		return cmp.Or(cmp.Compare(*x.Epsilon, *y.Epsilon), cmp.Compare(*x.Delta, *y.Delta))
	})
	return append(said, unsaid...), nil
}

func (a *app) printVerdictsJSON(list []verdict) error {
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encoding accountants: %w", err)
	}
	if _, err := fmt.Fprintf(a.stdout, "%s\n", text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

func (a *app) printVerdicts(list []verdict) error {
	number := func(v *float64) string { return strconv.FormatFloat(*v, 'g', -1, 64) }
	rows := [][3]string{{"accountant", "epsilon", "delta"}}
	width := [2]int{}
	for i, v := range list {
		if v.Reason != "" {
			continue
		}
		row := [3]string{v.Accountant, number(v.Epsilon), number(v.Delta)}
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
	for _, v := range list {
		if v.Reason == "" {
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%-*s  does not apply: %s\n", width[0], v.Accountant, v.Reason); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}
