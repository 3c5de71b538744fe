package commands

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// commands calls fn with every command and the arguments that name it.
func commands(fn func(cmd *cobra.Command, args []string)) {
	a := &command.App{}
	var walk func(cmd *cobra.Command, args []string)
	walk = func(cmd *cobra.Command, args []string) {
		fn(cmd, args)
		for _, c := range cmd.Commands() {
			walk(c, append(args[:len(args):len(args)], c.Name()))
		}
	}
	walk(rootCommand(a), nil)
}

// The error for an invalid value names the flag, the value and the valid values, without the words
// of Go.
func TestEveryFlagSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	seen := 0
	commands(func(cmd *cobra.Command, args []string) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%v --%s has no text in the help", args, flag.Name)
			}
			wrong := "x!"
			switch flag.Value.Type() {
			case "string", "stringArray":
				return // any text is a value
			case "stringSlice":
				wrong = `a"b`
			}
			seen++
			code, stdout, stderr := tollgate(t, append(args, "--"+flag.Name+"="+wrong)...)
			if code != command.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "error: --"+flag.Name+" is ") ||
				!strings.Contains(stderr, " must be ") &&
					!strings.Contains(stderr, "write it like") {
				t.Errorf("%v --%s: exit %d, stderr %q", args, flag.Name, code, stderr)
			}
			for _, internal := range []string{"strconv", "parsing", "invalid argument", "time:", "parse error"} {
				if strings.Contains(stderr, internal) {
					t.Errorf("%v --%s: %q in %q", args, flag.Name, internal, stderr)
				}
			}
		})
	})
	if seen < 40 {
		t.Errorf("%d flags were tried", seen)
	}
}

func TestUnknownCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"frobnicate":    `unknown command "frobnicate" for "tollgate": is audit, budget, `,
		"dmeo --help":   "is demo meant?",
		"budget compos": `unknown command "compos" for "tollgate budget"`,
	} {
		code, stdout, stderr := tollgate(t, strings.Fields(args)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	for args, want := range map[string]string{
		"": "Available Commands:", "help": "Available Commands:", "help demo": "tollgate demo [flags]",
		"help budget compose": "tollgate budget compose [flags]",
		"budget --help":       "tollgate budget [command]",
	} {
		if stdout, _ := mustRun(t, strings.Fields(args)...); !strings.Contains(stdout, want) {
			t.Errorf("%s: stdout %q", args, stdout)
		}
	}
}
