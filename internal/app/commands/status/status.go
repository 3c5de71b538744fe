// Package status implements the commands that show or change the state of a deployment without
// counting: status, statement, promise, forget and recover.
package status

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var (
	//go:embed status.txt
	statusHelp string
	//go:embed status_output.txt
	statusOutput string
)

// statusText is the data of status_output.txt.
type statusText struct {
	*pipeline.Status
	DeadLetterTopic string
	Now             time.Time
}

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
	text := statusText{s, d.Config.Outputs.DeadLetter, now}
	if err := v.PrintText(v.format, s, command.Template(statusOutput), text); err != nil {
		return err
	}
	var late error
	if maxLag > 0 && s.Lag > maxLag {
		late = fmt.Errorf("the next counts have been due since %s, longer than --max-lag %s: check that a run is "+
			"alive, and what it says it waits for", command.Moment(s.Due, now), timespan.Text(maxLag))
	}
	return errors.Join(s.Err(), late)
}
