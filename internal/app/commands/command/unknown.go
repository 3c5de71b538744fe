package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// known refuses the name of a command that there is not, also beside --help, where cobra
// would show the help of the command above it.
func known(root *cobra.Command, args []string) (*cobra.Command, error) {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return root, nil // cobra adds these when it runs
	}
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	// The error of Find, and flags that do not exist, are left to cobra. Its own commands for the
	// completion of a shell accept anything.
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasAvailableSubCommands() {
		return cmd, nil
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(arg string) bool {
		return slices.Contains([]string{"-h", "--help", "-v", "--version"}, arg)
	})
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return cmd, nil
	}
	return cmd, unknownCommand(cmd, rest[0])
}

// unknownCommand names what may have been meant.
func unknownCommand(parent *cobra.Command, name string) error {
	name = secret.Redact(name)
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		return Usage(fmt.Errorf("unknown command %q for %q: is %s meant?", name, parent.CommandPath(),
			strings.Join(near, " or ")))
	}
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	slices.Sort(names)
	return Usage(fmt.Errorf("unknown command %q for %q: there are %s", name, parent.CommandPath(),
		strings.Join(names, ", ")))
}
