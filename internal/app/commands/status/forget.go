package status

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var (
	//go:embed forget.txt
	forgetHelp string
	//go:embed forget_output.txt
	forgetOutput string
)

func Forget(a *command.App) *cobra.Command {
	v, by, why := &view{App: a}, "", ""
	cmd := a.New("forget USER", forgetHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		cmd.Flags().StringVar(&by, "by", "", "")
		cmd.Flags().StringVar(&why, "why", "", "")
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		if by == "" || why == "" {
			return command.Usage(errors.New("give --by and --why: who removes the user, and why"))
		}
		id, err := userID(cmd)
		if err != nil {
			return err
		}
		if names(by, string(id)) || names(why, string(id)) {
			return command.Usage(errors.New("--by and --why must not name the user: they stay on the control topic " +
				"for ever; give the number of the request"))
		}
		forget := func(ctx context.Context, d *pipeline.Deployment) (*pipeline.Forgotten, error) {
			return pipeline.Forget(ctx, d, id, pipeline.ForgetOptions{By: by, Why: why})
		}
		return show(cmd.Context(), v, config.Options{}, forget, forgetOutput)
	})
	cmd.Args = oneUser
	return cmd
}

func oneUser(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return command.Usage(errors.New("give one user id, or - to read it from the standard input"))
	}
	return nil
}

// userID returns the argument USER, or the standard input if that is "-".
func userID(cmd *cobra.Command) ([]byte, error) {
	user := cmd.Flags().Arg(0)
	if user != "-" {
		return []byte(user), nil
	}
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the user id from the standard input: %w", err)
	}
	return bytes.TrimRight(text, "\r\n"), nil
}

// names reports whether a text contains an id, other than as part of a longer word or number.
func names(text, id string) bool {
	inWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for begin, next := 0, 0; id != ""; next = begin + 1 {
		i := strings.Index(text[next:], id)
		if i < 0 {
			return false
		}
		begin = next + i
		last, _ := utf8.DecodeLastRuneInString(text[:begin])
		first, _ := utf8.DecodeRuneInString(text[begin+len(id):])
		if !inWord(last) && !inWord(first) {
			return true
		}
	}
	return false
}
