package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// Prepare configures the root command of a program: the caller prints errors, errors in flags are
// explained, help is wrapped at 100 columns, and shells complete the values of flags.
func Prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cmp.Or(UnknownCommand(cmd, cmd.Flags().Args()), explained(cmd.Flags(), err))
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100"))
	completeValues(root)
}

// Parent returns cmd as the parent of commands. Without a subcommand it prints its help; for an
// unknown name it suggests one of them.
func Parent(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	cmd.Args = UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// UnknownCommand refuses the arguments of a parent: the first one is not one of its subcommands. It
// suggests the nearest one, or lists all.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if !cmd.HasSubCommands() || len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	suggested := cmp.Or(spelling.Nearest(names, args[0]), spelling.List(names, " or "))
	return fmt.Errorf("unknown command %q for %q: is %s meant?", args[0], cmd.CommandPath(), suggested)
}

// explained completes errors of pflag: for an unknown name it suggests a flag, and for an invalid
// value it describes the valid ones.
func explained(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if f := flags.Lookup("format"); f != nil && slices.Contains(strings.Split(f.Value.Type(), "|"), name) {
			return fmt.Errorf("%w: is --format %s meant?", err, name)
		}
		var names []string
		flags.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		})
		if near := spelling.Nearest(names, cmp.Or(unknown.GetSpecifiedShortnames(), name)); near != "" {
			return fmt.Errorf("%w: is --%s meant?", err, near)
		}
		return err
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	var reason string
	switch flag.Value.Type() {
	case "float64":
		reason = "it must be a number"
	case "int", "int64", "uint64":
		reason = "it must be a whole number"
		if flag.Value.Type() == "uint64" {
			reason += ", at least 0"
		}
		if errors.Is(err, strconv.ErrRange) {
			reason += ", of at most 18 digits"
		}
	case "bool":
		reason = "it must be true or false, or be left out, which means true"
	case "float64Slice":
		reason = "it must be numbers with commas between them, like 0.5,0.95"
	case "stringSlice":
		reason = "it must be a list like a,b,c, with a quote only around a whole name"
	default:
		reason = invalid.Unwrap().Error() // a sentence from the flag's type
	}
	return fmt.Errorf("--%s is %q: %s", flag.Name, secret.Redact(invalid.GetValue()), reason)
}

// completeValues lets shells complete the values of flags: the words that a flag's type lists, and
// files by extension.
func completeValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if words := strings.Split(flag.Value.Type(), "|"); len(words) > 1 {
			complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
			cmd.RegisterFlagCompletionFunc(flag.Name, complete) //nolint:errcheck // the flag exists
		}
	})
	if cmd.Flags().Lookup("config") != nil {
		cmd.MarkFlagFilename("config", "yaml", "yml") //nolint:errcheck // the flag exists
	}
	for _, sub := range cmd.Commands() {
		completeValues(sub)
	}
}
