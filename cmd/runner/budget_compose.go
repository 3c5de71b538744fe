package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/state"
)

// composition is the flags that compose and compare share.
type composition struct {
	specs          []string
	epsilon, delta float64
}

const mechanismHelp = `A mechanism is a name, its parameters and how often it runs (count, 1 if it is
left out):

  gaussian:sigma=S[:sensitivity=D][:sampling=Q]  sampling: on a Poisson sample,
                                                 everybody with probability Q
  discrete-gaussian:sigma=S[:sensitivity=D]      D an integer
  laplace:scale=B[:sensitivity=D]
  randomized-response:epsilon=E[:values=K]       of 2 values if left out
  eps-delta:epsilon=E:delta=D                    anything that is (E, D)-private

The sensitivity is 1 if it is left out. All must be private for the same two
neighbouring inputs: gaussian with sampling adds or removes one user, and
randomized-response changes one. The list must be fixed beforehand; for
mechanisms that are chosen on the way see docs/accounting.md.

Give --delta or --epsilon, and the other is the answer, rounded up.`

func (c *composition) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&c.specs, "mechanism", nil, "a mechanism as `name:key=number:…`, repeatable")
	flags.Float64Var(&c.epsilon, "epsilon", 0, "privacy loss ε, at least 0: asks for δ")
	flags.Float64Var(&c.delta, "delta", 0, "failure probability δ, between 0 and 1: asks for ε")
}

// read parses and checks the flags.
func (c *composition) read(cmd *cobra.Command) ([]mechanism, question, error) {
	q := question{forDelta: cmd.Flags().Changed("epsilon"), epsilon: c.epsilon, delta: c.delta}
	switch {
	case q.forDelta == cmd.Flags().Changed("delta"):
		return nil, q, usage(errors.New("give either --epsilon or --delta: the other is the answer"))
	case q.forDelta && !(c.epsilon >= 0 && c.epsilon <= state.MaxEpsilon):
		return nil, q, flagError(&state.RangeError{Parameter: "epsilon", Value: c.epsilon, Range: "at least 0 and at most 1e6"})
	case !q.forDelta && !(c.delta >= state.MinDelta && c.delta < 1):
		return nil, q, flagError(&state.RangeError{Parameter: "delta", Value: c.delta, Range: "at least 1e-300 and below 1"})
	case len(c.specs) == 0:
		return nil, q, usage(errors.New("--mechanism is needed, once for each kind: gaussian:sigma=100:count=500"))
	}
	var list []mechanism
	together := 0
	for _, text := range c.specs {
		m, err := parseMechanism(text)
		if err != nil {
			return nil, q, usage(fmt.Errorf("--mechanism %s: %w", text, err))
		}
		if together += m.count; together > maxCount {
			return nil, q, usage(fmt.Errorf("--mechanism %s: the counts add up to %d, but at most %d are composed", text, together, maxCount))
		}
		list = append(list, m)
	}
	return list, q, nil
}

// ask gets an accountant's answer. The error is silent where it has none: a
// statement that says nothing, or a sum that is out of range.
func (b bookkeeper) ask(list []mechanism, q question) (float64, error) {
	answer, err := b.answer(list, q)
	var out *state.RangeError
	switch {
	case errors.As(err, &out): // not one of the flags: they are checked
		return 0, silence("together they are out of its range: %v", out)
	case err != nil:
		return 0, err
	case q.forDelta && answer >= 1:
		return 0, silence("it shows no delta below 1 at this epsilon")
	case math.IsInf(answer, 1) || math.IsNaN(answer):
		return 0, silence("it shows no finite epsilon at this delta")
	}
	return answer, nil
}

func (a *app) budgetCompose() *cobra.Command {
	var (
		c  composition
		by bookkeeperName
		f  format
	)
	cmd := &cobra.Command{
		Use:   "compose",
		Short: "What several mechanisms cost together",
		Long: `Print the (epsilon, delta) of several mechanisms on the same data.

` + mechanismHelp + `

Accountants: pld convolves privacy loss distributions and takes every mechanism;
gdp is exact for gaussian without sampling; rdp, zcdp, advanced and basic are
looser. Without --accountant it is gdp for a list of gaussian only, else pld.
One that cannot price a mechanism is an error; compare shows all of them.`,
		Example: `  runner budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6
  runner budget compose --mechanism gaussian:sigma=2:sampling=0.01:count=1000 \
    --mechanism laplace:scale=10 --delta 1e-6
  runner budget compose --mechanism eps-delta:epsilon=1:delta=1e-7:count=3 --epsilon 3`,
		Args: cobra.NoArgs,
	}
	c.register(cmd)
	cmd.Flags().Var(&by, "accountant", "how losses add up; the tightest if it is left out")
	formatFlag(cmd, &f)
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		list, q, err := c.read(cmd)
		if err != nil {
			return err
		}
		name := string(by)
		if name == "" {
			name = tightest(list)
		}
		answer, err := bookkeeperOf(name).ask(list, q)
		var none *silent
		if errors.As(err, &none) {
			return usage(fmt.Errorf("--accountant %s does not apply: %w", name, err))
		}
		if err != nil {
			return err
		}
		together := 0
		for _, m := range list {
			together += m.count
		}
		epsilon, delta := q.with(answer)
		return printFields(a.stdout, f, []field{
			{"epsilon", epsilon}, {"delta", delta}, {"accountant", name}, {"mechanisms", together},
		})
	})
	return cmd
}

// bookkeeperName is the value of --accountant of compose; "" until it is given.
type bookkeeperName string

func (v *bookkeeperName) String() string { return string(*v) }
func (v *bookkeeperName) Type() string   { return "gdp|pld|rdp|zcdp|advanced|basic" }

func (v *bookkeeperName) Set(text string) error {
	if bookkeeperOf(text).answer == nil {
		return errors.New("must be gdp, pld, rdp, zcdp, advanced or basic")
	}
	*v = bookkeeperName(text)
	return nil
}

// bookkeeperOf is the accountant of a name, or the zero value.
func bookkeeperOf(name string) bookkeeper {
	for _, b := range bookkeepers() {
		if b.name == name {
			return b
		}
	}
	return bookkeeper{}
}
