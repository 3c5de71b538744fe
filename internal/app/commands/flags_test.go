package commands

import (
	"github.com/spf13/cobra"
)

// commands calls fn with every command and the arguments that name it.
func commands(fn func(cmd *cobra.Command, args []string)) {
	a := app{}
	var walk func(cmd *cobra.Command, args []string)
	walk = func(cmd *cobra.Command, args []string) {
		fn(cmd, args)
		for _, c := range cmd.Commands() {
			walk(c, append(args[:len(args):len(args)], c.Name()))
		}
	}
	walk(a.root(), nil)
}
