package commands

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ranksValue is a flag with numbers between 0 and 1.
type ranksValue []float64

// String implements pflag.Value.
func (r ranksValue) String() string {
	var texts []string
	for _, rank := range r {
		texts = append(texts, strconv.FormatFloat(rank, 'g', -1, 64))
	}
	return strings.Join(texts, ",")
}

// Set implements pflag.Value.
func (r *ranksValue) Set(text string) error {
	*r = nil
	for _, one := range strings.Split(text, ",") {
		rank, err := strconv.ParseFloat(strings.TrimSpace(one), 64)
		if err != nil || !(rank > 0 && rank < 1) {
			return fmt.Errorf("%q must be numbers between 0 and 1: write it like 0.5,0.95", text)
		}
		*r = append(*r, rank)
	}
	return nil
}

// Type implements pflag.Value.
func (*ranksValue) Type() string { return "numbers" }

// rankError is the target for the error of a rank if no flag gives one.
const rankError = 0.02

// checkRanks refuses --relative for quantiles, and --ranks for other kinds. It sets the target of
// quantiles if no flag gives one.
func (f *demoFlags) checkRanks(changed func(string) bool) error {
	switch {
	case f.kindOf().Tree == nil && changed("ranks"):
		return errors.New("--ranks is only used with --kind quantiles")
	case f.kindOf().Tree == nil:
		return nil
	case f.relative != 0 && changed("relative"):
		return errors.New("--relative is not used with --kind quantiles: their target is an error of the rank: give for example --absolute 0.02")
	}
	if !changed("absolute") && !changed("relative") { // --relative 0 is no target
		f.absolute = rankError
	}
	f.relative = 0
	return nil
}
