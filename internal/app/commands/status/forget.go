package status

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

//go:embed forget.txt
var forgetHelp string

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
		return show(cmd.Context(), v, config.Options{}, forget, writeForgotten)
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

// writeForgotten writes for people what was removed, what they must delete, and what stays.
func writeForgotten(b *strings.Builder, r *pipeline.Forgotten) {
	line := command.Lines(b, 10)
	again := ""
	if r.Again {
		again = " (and had been forgotten before)"
	}
	line("forgotten", "the user counts in no turn after turn %d%s", r.Turn, again)
	accounts := terminal.Count(r.Accounts, "account") + " of the user"
	if r.Accounts == 0 {
		accounts = "no account, as the user has none,"
	}
	line("removed", "%s and the events of open windows; %s of the ledger, which tombstones replace", accounts,
		terminal.Count(r.Tombstones, "record"))
	if r.Accounts == 0 && !r.Again && !slices.ContainsFunc(r.Topics, pipeline.Remaining.Found) {
		line("check", "is the id right? Neither the ledger nor a topic had anything of this user, and the mark stays")
	}
	line("kept", "a mark on the ledger (a keyed hash), so that the user cannot spend a new budget")
	line("compaction", "topic %s drops the old records once Kafka compacts it: set segment.ms (%s) and "+
		"max.compaction.lag.ms (%s) to 86400000, a day, or less; delete.retention.ms is %s",
		terminal.Key(r.Ledger.Topic, 60), r.Ledger.Segment, r.Ledger.MaxLag, r.Ledger.DeleteRetention)
	for i := range r.Topics {
		writeRemaining(line, &r.Topics[i])
	}
	line("published", "values stay: they would be almost as likely without the user")
}

// writeRemaining writes what the operator must delete on a topic.
func writeRemaining(line func(name, format string, args ...any), t *pipeline.Remaining) {
	topic := terminal.Key(t.Topic, 60)
	var offsets []string
	for _, p := range slices.Sorted(maps.Keys(t.Before)) {
		offsets = append(offsets, fmt.Sprintf(`{"topic": %q, "partition": %d, "offset": %d}`, t.Topic, p, t.Before[p]))
	}
	switch {
	case !t.Found():
		line("topic", "%s has no record of the user", topic)
	case len(offsets) > 0 && t.Compact:
		line("to do", "topic %s has records of the user and is compacted: write a tombstone under each of their keys",
			topic)
	case len(offsets) > 0:
		line("to do", "topic %s has records of the user: wait for its retention, or give kafka-delete-records.sh this "+
			"file, which deletes everybody's records before these offsets; no run needs them:", topic)
		line("", `{"version": 1, "partitions": [%s]}`, strings.Join(offsets, ", "))
	}
	if t.Unread {
		line("later", "topic %s has records of the user that a run needs or has not read: they do not count; repeat "+
			"forget after a later run", topic)
	}
}
