package budget

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/compose"
)

var (
	//go:embed compose.txt
	composeHelp string
	//go:embed compare.txt
	compareHelp string
)

// composition holds the flags that compose and compare share.
type composition struct {
	specs          []string
	epsilon, delta float64
	group          int
	format         cli.Format
}

func (c *composition) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&c.specs, "mechanism", nil, "")
	flags.Float64Var(&c.epsilon, "epsilon", 0, "")
	flags.Float64Var(&c.delta, "delta", 0, "")
	flags.IntVar(&c.group, "group", 1, "")
	cli.FormatFlag(cmd, &c.format)
}

// read parses and checks the flags.
func (c *composition) read(cmd *cobra.Command) ([]compose.Mechanism, compose.Question, error) {
	forDelta := cmd.Flags().Changed("epsilon")
	if forDelta == cmd.Flags().Changed("delta") {
		return nil, compose.Question{}, command.Usage(errors.New("give either --epsilon or --delta: the command " +
			"computes the other"))
	}
	ask, given := compose.EpsilonAt, c.delta
	if forDelta {
		ask, given = compose.DeltaAt, c.epsilon
	}
	q, err := ask(given)
	if err != nil {
		return nil, q, command.FlagError(err)
	}
	list, err := c.list()
	return list, q, err
}

// list returns the mechanisms of --mechanism, for a group of --group users.
func (c *composition) list() (list []compose.Mechanism, err error) {
	if len(c.specs) == 0 {
		return nil, command.Usage(errors.New("--mechanism is needed, once for each kind: gaussian:sigma=100:count=500"))
	}
	total := 0
	for _, text := range c.specs {
		m, err := parseMechanism(text)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--mechanism %s: %w", text, err))
		}
		if total += m.Count(); total > compose.MaxCount {
			return nil, command.Usage(fmt.Errorf("--mechanism %s: the counts add up to %d, but at most %d are composed",
				text, total, compose.MaxCount))
		}
		if m, err = m.ForGroup(c.group); err != nil {
			return nil, command.Usage(fmt.Errorf("--group %d: %w", c.group, err))
		}
		list = append(list, m)
	}
	return list, nil
}

func (a *app) compose() *cobra.Command {
	var (
		c          composition
		accountant compose.Accountant // empty if the flag is not given
	)
	return a.New("compose", composeHelp, func(cmd *cobra.Command) {
		c.register(cmd)
		cmd.Flags().Var(cli.Parsed(strings.Join(compose.Names(), "|"), func() string { return accountant.Name() },
			func(text string) (err error) {
				var ok bool
				if accountant, ok = compose.Named(text); !ok {
					err = errors.New("it must be " + spelling.List(compose.Names(), " or "))
				}
				return err
			}), "accountant", "")
	}, func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		best, others, err := answer(accountant, list, q)
		if err != nil {
			return err
		}
		total := 0
		for _, m := range list {
			total += m.Count()
		}
		fields := []any{
			"epsilon", best.Loss.Epsilon, "delta", best.Loss.Delta, "accountant", best.Accountant.Name(),
			"mechanisms", total,
		}
		if c.format == cli.JSON && len(others) > 0 {
			fields = append(fields, "not_applicable", verdictRows(others))
		}
		for _, v := range others {
			if c.format != cli.JSON && v.NotApplicable != nil {
				fields = append(fields, v.Accountant.Name(), doesNotApply(v))
			}
		}
		return a.PrintFields(c.format, fields)
	})
}

func (a *app) compare() *cobra.Command {
	var c composition
	return a.New("compare", compareHelp, c.register, func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		verdicts, err := compose.Compare(list, q)
		if err != nil {
			return err
		}
		return a.printVerdicts(c.format, verdicts)
	})
}

// verdict is a compose.Verdict in JSON: two numbers, or the reason why the accountant does not
// apply.
type verdict struct {
	Epsilon    *float64 `json:"epsilon,omitempty"`
	Delta      *float64 `json:"delta,omitempty"`
	Accountant string   `json:"accountant"`
	Reason     string   `json:"reason,omitempty"`
}

// verdictRows converts verdicts for JSON output.
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
	return a.PrintAs(f, verdictRows(list), func(b *strings.Builder) {
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
	})
}

// doesNotApply returns the reason why an accountant does not apply.
func doesNotApply(v compose.Verdict) string { return "does not apply: " + v.NotApplicable.Reason }

// answer uses the accountant of --accountant. Without one it chooses the tightest and also returns
// the verdicts of the others.
func answer(accountant compose.Accountant, list []compose.Mechanism, q compose.Question) (best compose.Verdict,
	others []compose.Verdict, err error) {
	if accountant.Name() == "" {
		best, others, err = compose.Best(list, q)
		if errors.Is(err, compose.ErrNotApplicable) {
			return best, others, command.Usage(fmt.Errorf("choosing an accountant: %w", err))
		}
		return best, others, err
	}
	best.Accountant = accountant
	best.Loss, err = accountant.Compose(list, q)
	if errors.Is(err, compose.ErrNotApplicable) {
		err = command.Usage(fmt.Errorf("--accountant %s does not apply: %w; leave --accountant out for the tightest "+
			"that does", accountant.Name(), err))
	}
	return best, nil, err
}
