package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupKey is the key of the annotation that holds the title of a flag's group.
const groupKey = "group"

// Group puts a flag under a title in the help.
func Group(flag *pflag.Flag, title string) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[groupKey] = []string{title}
}

// GroupHelp lets --help show the usual flags of a command in their groups, and --help-all show all
// flags. Call it once the command has its flags and RunE.
func GroupHelp(cmd *cobra.Command, usual ...string) {
	all, flags, run := false, cmd.Flags(), cmd.RunE
	flags.BoolVar(&all, "help-all", false, "show all flags")
	flags.Lookup("help-all").Hidden = true
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all {
			return cmd.Help()
		}
		return run(cmd, args)
	}
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		text := fmt.Sprintf("Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		var titles []string
		groups, more := map[string]*pflag.FlagSet{}, 0
		flags.VisitAll(func(flag *pflag.Flag) {
			title := strings.Join(flag.Annotations[groupKey], "")
			if flag.Hidden || title == "" {
				return
			}
			if !all && !slices.Contains(usual, flag.Name) {
				more++
				return
			}
			if groups[title] == nil {
				titles, groups[title] = append(titles, title), pflag.NewFlagSet(title, pflag.ContinueOnError)
				groups[title].SortFlags = false
			}
			groups[title].AddFlag(flag)
		})
		for _, title := range titles {
			text += fmt.Sprintf("\n%s:\n%s", title, groups[title].FlagUsagesWrapped(100))
		}
		if more > 0 {
			text += fmt.Sprintf("\n%s --help-all shows %d more flags.\n", cmd.CommandPath(), more)
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	})
}

// FlagNames returns the names of the flags that register adds.
func FlagNames(register func(*pflag.FlagSet)) (names []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	register(flags)
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
