package budget

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/state/compose"
)

// composition has the flags that compose and compare share.
type composition struct {
	specs          []string
	epsilon, delta float64
	group          int
}

const mechanismHelp = `A mechanism is a name, its parameters and how often it runs (count, 1 if it is
left out):

  gaussian:sigma=S[:sensitivity=D][:sampling=Q]
  discrete-gaussian:sigma=S[:sensitivity=D][:sampling=Q]   D an integer
  laplace:scale=B[:sensitivity=D][:sampling=Q]
  gaussian-without-replacement:sigma=S:sampling=Q[:sensitivity=D]
  randomized-response:epsilon=E[:values=K]                 of 2 values if left out
  exponential:scale=B[:swing=D]                            selection of a candidate
  sparse-vector:threshold=A:value=B[:positives=K][:sensitivity=D][:monotone=1]
  eps-delta:epsilon=E:delta=D                              anything that is (E, D)-private
  zcdp:rho=R                                               anything that is R-zCDP

The sensitivity is 1 if it is left out. So are the swing (the greatest change of a
score by one user minus the least), and positives (how many values sparse-vector may
find). A and B are scales of Laplace noise on the threshold and on each value;
monotone=1 if a user changes all values in one direction. With sampling a mechanism
works on a Poisson sample, which has each user with probability Q;
gaussian-without-replacement works on a sample of fixed size, M of N users, and Q is
M/N. All mechanisms must be private for the same two neighbouring inputs: a Poisson
sample is for one user added or removed, gaussian-without-replacement for one user
replaced by another (and D for what that changes in a sample), and
randomized-response changes one. The list must be fixed beforehand; for mechanisms
that are chosen by earlier results see docs/accounting.md.

With --group K the answer is for any K users together. It does not work with sampling.

Give --delta or --epsilon; the answer is the other one, rounded up.`

func (c *composition) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&c.specs, "mechanism", nil, "a mechanism as `name:key=number:…`, repeatable")
	flags.Float64Var(&c.epsilon, "epsilon", 0, "privacy loss ε, at least 0: computes δ")
	flags.Float64Var(&c.delta, "delta", 0, "probability δ by which results may go beyond ε, between 0 and 1: "+
		"computes ε")
	flags.IntVar(&c.group, "group", 1, "number of users whom the answer covers together")
}

// read parses and checks the flags.
func (c *composition) read(cmd *cobra.Command) ([]compose.Mechanism, compose.Question, error) {
	forDelta := cmd.Flags().Changed("epsilon")
	if forDelta == cmd.Flags().Changed("delta") {
		return nil, compose.Question{}, command.Usage(errors.New("give either --epsilon or --delta: the other is the " +
			"answer"))
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

// list returns the mechanisms of the flags, for --group users together.
func (c *composition) list() ([]compose.Mechanism, error) {
	list, err := c.forOne()
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i], err = list[i].ForGroup(c.group); err != nil {
			return nil, command.Usage(fmt.Errorf("--group %d: %w", c.group, err))
		}
	}
	return list, nil
}

// forOne returns the mechanisms of --mechanism.
func (c *composition) forOne() ([]compose.Mechanism, error) {
	if len(c.specs) == 0 {
		return nil, command.Usage(errors.New("--mechanism is needed, once for each kind: gaussian:sigma=100:count=500"))
	}
	var list []compose.Mechanism
	together := 0
	for _, text := range c.specs {
		m, err := parseMechanism(text)
		if err != nil {
			return nil, command.Usage(fmt.Errorf("--mechanism %s: %w", text, err))
		}
		if together += m.Count(); together > compose.MaxCount {
			return nil, command.Usage(fmt.Errorf("--mechanism %s: the counts add up to %d, but at most %d are composed",
				text, together, compose.MaxCount))
		}
		list = append(list, m)
	}
	return list, nil
}

func (a *app) budgetCompose() *cobra.Command {
	var (
		c  composition
		by composer
		f  cli.Format
	)
	cmd := &cobra.Command{
		Use:   "compose",
		Short: "Compute what several mechanisms cost together",
		Long: `Print the (epsilon, delta) of several mechanisms on the same data.

` + mechanismHelp + `

Accountants: pld convolves privacy loss distributions and accepts every mechanism;
gdp is exact for gaussian without sampling, homogeneous for mechanisms of one epsilon
and delta; rdp, zcdp, advanced and basic are looser, but rdp is the tightest for many
of exponential. Without --accountant, compose asks those that can be the tightest,
and says which of them have no answer, and why. It is an error to name an accountant
that cannot price a mechanism; compare shows all accountants.`,
		Example: `  tollgate budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6
  tollgate budget compose --mechanism gaussian:sigma=2:sampling=0.01:count=1000 \
    --mechanism laplace:scale=10 --delta 1e-6
  tollgate budget compose --mechanism eps-delta:epsilon=1:delta=1e-7:count=3 --epsilon 3`,
		Args: command.NoArguments("--mechanism"),
	}
	c.register(cmd)
	cmd.Flags().Var(&by, "accountant", "how losses add up (default: the tightest)")
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		best, others, err := by.answer(list, q)
		if err != nil {
			return err
		}
		together := 0
		for _, m := range list {
			together += m.Count()
		}
		fields := []any{
			"epsilon", best.Loss.Epsilon, "delta", best.Loss.Delta, "accountant", best.Accountant.Name(), "mechanisms",
			together,
		}
		if f == cli.JSON && len(others) > 0 {
			fields = append(fields, "not_applicable", verdictRows(others))
		}
		for _, v := range others {
			if f != cli.JSON && v.NotApplicable != nil {
				fields = append(fields, v.Accountant.Name(), doesNotApply(v))
			}
		}
		return a.PrintFields(f, fields)
	})
	return cmd
}

// answer asks the accountant that was given, or for the best one, and returns those that
// do not apply then.
func (v *composer) answer(list []compose.Mechanism, q compose.Question) (best compose.Verdict, others []compose.Verdict,
	err error) {
	if v.Name() == "" {
		best, others, err = compose.Best(list, q)
		if errors.Is(err, compose.ErrNotApplicable) {
			return best, others, command.Usage(fmt.Errorf("answering without --accountant: %w", err))
		}
		return best, others, err
	}
	best.Accountant = v.Accountant
	best.Loss, err = v.Compose(list, q)
	if errors.Is(err, compose.ErrNotApplicable) {
		err = command.Usage(fmt.Errorf("--accountant %s does not apply: %w; leave --accountant out for the tightest "+
			"that does", v.Name(), err))
	}
	return best, nil, err
}

// composer is the value of --accountant of compose; empty until it is given.
type composer struct{ compose.Accountant }

func (v *composer) String() string { return v.Name() }
func (v *composer) Type() string   { return strings.Join(compose.Names(), "|") }

func (v *composer) Set(text string) error {
	named, ok := compose.Named(text)
	if !ok {
		return errors.New("it must be " + spelling.List(compose.Names(), " or "))
	}
	v.Accountant = named
	return nil
}
