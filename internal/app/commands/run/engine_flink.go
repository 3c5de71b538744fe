//go:build flink

package run

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/flink"
)

func init() { startFlink, Worker = flinkWorkers, worker }

// flinkWorkers starts workers that run the stages on a Flink cluster.
func flinkWorkers(a *app, f *runFlags, progress *terminal.Progress) (*pipeline.Workers, error) {
	path, err := filepath.Abs(f.config)
	if err != nil {
		return nil, fmt.Errorf("finding the configuration: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which workers run: %w", err)
	}
	o := flink.Options{
		URL: f.flink, Parallelism: f.parallelism, Command: program,
		Logger:  a.Logger(progress, slog.LevelWarn),
		Started: func(job, page string) { progress.Mention("Flink job %s runs the stages: %s", job, page) },
	}
	if err := flink.Check(context.Background(), o); err != nil {
		if errors.Is(err, flink.ErrAddress) {
			return nil, command.Usage(fmt.Errorf("--flink is %w", err))
		}
		return nil, err
	}
	return &pipeline.Workers{Engine: flink.Engine(o), Config: path, Tasks: f.parallelism,
		Spread: flink.Spread(f.parallelism)}, nil
}

//go:embed worker.txt
var workerHelp string

func worker(a *command.App) *cobra.Command {
	cmd := a.New("worker", workerHelp, func(*cobra.Command) {}, func(cmd *cobra.Command) error {
		if !flink.IsWorker(os.Args[1:]) {
			return cmd.Help()
		}
		pipeline.OpenRuns(func(path string) (*pipeline.Deployment, error) {
			d, err := a.Load(path, config.Options{WithoutRecord: true})
			if err != nil {
				return nil, err
			}
			return d.Deployment, nil
		}, flink.NewLogger())
		return flink.Worker(cmd.Context(), os.Args[1:])
	})
	cmd.DisableFlagParsing, cmd.Args = true, nil
	return cmd
}
