package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
)

// New returns a command with the texts of help: a summary in one line, a description, lines to try
// under "Examples:", and the descriptions of its flags, under "Flags:" or the titles of groups, where
// a star marks the flags that --help shows. register adds the flags; values replace words in help.
func (a *App) New(use, help string, register func(*cobra.Command), work func(*cobra.Command) error,
	values ...string) *cobra.Command {
	help = strings.NewReplacer(values...).Replace(help)
	short, long, _ := strings.Cut(help, "\n")
	long, example, _ := strings.Cut(long, "\nExamples:\n")
	example, flags, _ := strings.Cut(example, "\n\n")
	cmd := &cobra.Command{Use: use, Short: short, Long: strings.TrimSpace(long),
		Example: strings.TrimRight(example, "\n"), RunE: a.Run(work)}
	cmd.Flags().SortFlags = false
	register(cmd)
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	cmd.Args = NoArguments(append(names, "")[0])
	describe(cmd, flags)
	return cmd
}

// describe gives the flags of a command their descriptions, and their groups if there are any.
func describe(cmd *cobra.Command, text string) {
	var flag *pflag.Flag
	var usual []string
	title := ""
	for line := range strings.Lines(text) {
		words, star := strings.Fields(line), strings.HasPrefix(line, "* ")
		switch {
		case len(words) == 0:
			continue
		case line[0] != ' ' && !star:
			title, words = strings.TrimSuffix(strings.TrimSpace(line), ":"), nil
		case star:
			words, usual = words[1:], append(usual, words[1])
			fallthrough
		case line[2] != ' ':
			if flag = cmd.Flags().Lookup(words[0]); flag != nil && title != "Flags" {
				cli.Group(flag, title)
			}
			words = words[1:]
		}
		if flag != nil {
			flag.Usage = strings.TrimSpace(flag.Usage + " " + strings.Join(words, " "))
		}
	}
	if usual != nil {
		cli.GroupHelp(cmd, usual...)
	}
}
