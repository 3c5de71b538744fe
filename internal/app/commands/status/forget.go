package status

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// forgetFlags are the flags of forget as they were given.
type forgetFlags struct {
	config, by, why string
	format          cli.Format
}

func Forget(c *command.App) *cobra.Command {
	a := &app{c}
	var f forgetFlags
	cmd := &cobra.Command{
		Use:   "forget USER",
		Short: "Remove one user from a drained deployment, for good",
		Long: `Remove one user from a deployment, for good. First end the run (SIGTERM): forget refuses
if a turn is open, and otherwise ends a run that is alive. Nobody can take it back: check
the id with "tollgate statement" first.

forget removes the user's accounts and the events of open windows from the ledger. A
mark, a keyed hash, takes their place. Every later run uses it to leave out the user's
events: the user cannot spend a new budget. Nothing changes for other users. Published
values stay.

forget does not write to the events and dead-letter topics. It prints where they still
hold records of the user and which offsets to delete, for kafka-delete-records.sh.
Kafka drops the old records of the ledger when it compacts the topic.

If forget is interrupted, repeat it. USER is the id as it is in the events. With -,
forget reads it from the standard input, so that it does not stay in the history of
the shell. --by and --why are recorded on the control topic, without the id.`,
		Example: `  echo -n u17 | tollgate forget - --config tollgate.yaml --by Ada --why "request 1234"`,
		Args:    oneUser,
	}
	cmd.Flags().SortFlags = false
	a.ConfigPath(cmd, &f.config)
	cmd.Flags().StringVar(&f.by, "by", "", "who removes the user")
	cmd.Flags().StringVar(&f.why, "why", "", "the reason, or where it is written down; without the user's id")
	cli.FormatFlag(cmd, &f.format)
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		return a.runForget(cmd.Context(), cmd.Flags().Arg(0), cmd.InOrStdin(), f)
	})
	return cmd
}

func (a *app) runForget(ctx context.Context, user string, stdin io.Reader, f forgetFlags) error {
	if f.by == "" || f.why == "" {
		return command.Usage(errors.New("give --by and --why: who removes the user, and the reason"))
	}
	id, err := userID(user, stdin)
	if err != nil {
		return err
	}
	d, err := a.Reach(ctx, f.config, config.Options{})
	if err != nil {
		return err
	}
	result, err := pipeline.Forget(ctx, d.Deployment, id, pipeline.ForgetOptions{By: f.by, Why: f.why})
	if err != nil {
		return d.Explained(err)
	}
	return a.PrintAs(f.format, result, func(b *strings.Builder) { writeForgotten(b, result) })
}

func oneUser(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return command.Usage(errors.New("give one user id, or - to read it from the standard input"))
	}
	return nil
}

// userID returns the argument USER as bytes; -: the standard input.
func userID(user string, stdin io.Reader) ([]byte, error) {
	if user != "-" {
		return []byte(user), nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the user id from the standard input: %w", err)
	}
	return bytes.TrimRight(text, "\r\n"), nil
}

// writeForgotten writes for people what was removed, what they have to delete, and what stays.
func writeForgotten(b *strings.Builder, r *pipeline.Forgotten) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	again := ""
	if r.Again {
		again = " (and had been forgotten before)"
	}
	line("forgotten", "the user counts in no turn after turn %d%s", r.Turn, again)
	line("removed", "%s of the user and the events of open windows; %s of the ledger, which tombstones replace",
		terminal.Count(r.Accounts, "account"), terminal.Count(r.Tombstones, "record"))
	if r.Accounts == 0 && !r.Again && !slices.ContainsFunc(r.Topics, pipeline.Remaining.Found) {
		line("check", "is the id right? Neither the ledger nor a topic had anything of this user, and the mark stays")
	}
	line("kept", "a mark on the ledger (a keyed hash), so that the user cannot spend a new budget")
	line("compaction", "topic %s drops the old records once Kafka compacts it: segment.ms is %s, "+
		"max.compaction.lag.ms %s, delete.retention.ms %s; set the first two to 86400000 (a day) or less",
		terminal.Key(r.Ledger.Topic, 60), inDays(r.Ledger.Segment), inDays(r.Ledger.MaxLag),
		inDays(r.Ledger.DeleteRetention))
	for i := range r.Topics {
		writeRemaining(line, &r.Topics[i])
	}
	line("published", "values stay: they would be almost as likely without the user")
}

// inDays adds to a setting in milliseconds how long that is, in days.
func inDays(setting string) string {
	ms, err := strconv.ParseInt(setting, 10, 64)
	switch day := 24 * time.Hour.Milliseconds(); {
	case err != nil:
		return setting
	case ms == math.MaxInt64:
		return setting + " (no limit)"
	default:
		return fmt.Sprintf("%s (%s days)", setting, terminal.Number(float64(ms)/float64(day), 1))
	}
}

// writeRemaining writes what the operator has to delete on a topic.
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
