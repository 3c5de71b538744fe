// Package status implements the commands that show or change the state of a deployment without
// counting: status, statement, promise, forget and recover.
package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline"
)

//go:embed status.txt
var statusHelp string

func Command(a *command.App) *cobra.Command {
	v := &view{App: a}
	var maxLag time.Duration
	return a.New("status", statusHelp, func(cmd *cobra.Command) {
		a.ConfigPath(cmd, &v.path)
		command.DurationFlag(cmd.Flags(), &maxLag, "max-lag", 0, "")
		cli.FormatFlag(cmd, &v.format)
	}, func(cmd *cobra.Command) error {
		if cmd.Flags().Changed("max-lag") && maxLag <= 0 {
			return command.Must("max-lag", "above 0")
		}
		return runStatus(cmd.Context(), v, maxLag)
	})
}

func runStatus(ctx context.Context, v *view, maxLag time.Duration) error {
	d, err := v.Reach(ctx, v.path, config.Options{WithoutKeys: true, WithoutRegistries: true})
	if err != nil {
		return err
	}
	now := time.Now()
	s, err := pipeline.ReadStatus(ctx, d.Deployment, now)
	if err != nil {
		return d.Explained(err)
	}
	err = v.PrintAs(v.format, s, func(b *strings.Builder) { writeStatus(b, s, d.Config.Outputs.DeadLetter, now) })
	if err != nil {
		return err
	}
	if maxLag > 0 && s.Lag > maxLag {
		err = fmt.Errorf("the next counts have been due since %s, longer than --max-lag %s: check that a run is "+
			"alive, and what it says it waits for", command.Moment(s.Due, now), timespan.Text(maxLag))
	}
	return errors.Join(s.Err(), err)
}

// writeStatus writes a status for people.
func writeStatus(b *strings.Builder, s *pipeline.Status, deadLetters string, now time.Time) {
	line := command.Lines(b, 11)
	unit := ""
	if s.PeriodSeconds > 0 {
		unit = fmt.Sprintf(" for a user in one period of %s",
			timespan.Text(time.Duration(s.PeriodSeconds*float64(time.Second))))
	}
	line("deployment", "%s, generation %d: (%s, %s)-differential privacy%s", terminal.Key(s.Deployment, 60),
		s.Generation, words.Digits(s.Epsilon), words.Digits(s.Delta), unit)
	if s.Settled == 0 {
		line("published", "nothing yet; time begins at %s", command.Moment(s.Start, now))
	} else {
		settled := ""
		if s.SettledAt != nil {
			settled = " " + ago(now.Sub(*s.SettledAt)) + " ago"
		}
		line("published", "counts of events before %s, settled%s as turn %s", command.Moment(s.SettledTo, now), settled,
			terminal.Number(float64(s.Settled), 0))
	}
	switch {
	case s.Stop != nil:
		line("STOPPED", "at turn %s, at %s: %s", terminal.Number(float64(s.Stop.Turn), 0), command.Moment(s.Stop.At,
			now), terminal.Key(s.Stop.Reason, 2000))
	case s.Closed > s.Settled && s.Ended:
		line("next", "closed up to turn %s: the last run has ended, and the next one will release these turns",
			terminal.Number(float64(s.Closed), 0))
	case s.Closed > s.Settled:
		line("next", "closed up to turn %s: a run is releasing these turns, or the next run will release them",
			terminal.Number(float64(s.Closed), 0))
	case s.Lag > 0 && s.Ended:
		line("next", "due since %s, %s ago: the last run has ended", command.Moment(s.Due, now), ago(s.Lag))
	case s.Lag > 0:
		line("next", "due since %s, %s ago: no run is working, or a run is waiting", command.Moment(s.Due, now),
			ago(s.Lag))
	case s.Ended:
		line("next", "by %s, if a run has begun by then: the last one has ended", command.Moment(s.Due, now))
	default:
		line("next", "by %s", command.Moment(s.Due, now))
	}
	if share := deadShare(s.DeadLetters); share != "" {
		line("broken", "%s of the records of the last %s: topic %s has them, with the reason in the header "+
			"tollgate-class", share, terminal.Count(s.DeadLetterTurns, "turn"), deadLetters)
	}
	line("format", "control log %d (tollgate version says what this binary writes and reads)", s.ControlFormat)
	if s.BeganOnCluster != "" {
		line("cluster", "not %s, on which the deployment began: this is right only after a failover or a restore",
			terminal.Key(s.BeganOnCluster, 60))
	}
	if s.Run < 0 {
		line("run", "none has begun yet: start one with tollgate run")
		return
	}
	ended := ""
	if s.Ended {
		ended = "; it has ended"
	}
	line("run", "%d, epoch %d (both grow with every start)%s", s.Run, s.Epoch, ended)
}

// ago formats how long ago something happened.
func ago(d time.Duration) string { return timespan.Text(max(0, d).Round(time.Second)) }

// deadShare describes roughly how many records are dead letters; "" for a level without a text.
func deadShare(level pipeline.DeadLetterLevel) string {
	return map[pipeline.DeadLetterLevel]string{"few": "a few, fewer than one in a hundred,",
		"some": "some, at least one in a hundred,", "most": "more than half"}[level]
}
