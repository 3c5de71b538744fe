package command

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// StrictFlag adds --strict to a command that checks the topics.
func StrictFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "strict", false, "fail (exit code 3) where this command only warns otherwise: topics that "+
		"lose records if one broker is lost, secrets that others can read, settings with which nothing can be released")
}

// Checking returns the options of a check of the topics, which logs weaknesses on stderr.
func (a *App) Checking(strict bool) pipeline.CheckOptions {
	return pipeline.CheckOptions{Logger: a.Logger(a.Stderr, slog.LevelWarn), Strict: strict}
}
