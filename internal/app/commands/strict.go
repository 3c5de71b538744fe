package commands

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/pipeline"
)

// strictLosses is what --strict of run refuses beside what strictFlag says.
const strictLosses = "; fail (exit code 4) if more than 2 % of the values cannot be read or, with --until or --until-end, if more than half of the records were lost before counting"

// strictFlag adds --strict to a command that checks the topics.
func strictFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "strict", false, "fail (exit code 3) where this command only warns otherwise: topics that lose records if one broker is lost, secrets that others can read, settings with which nothing can be released")
}

// checking returns the options of a check of the topics, which logs weaknesses on stderr.
func (a *app) checking(strict bool) pipeline.CheckOptions {
	return pipeline.CheckOptions{Logger: a.logger(a.stderr, slog.LevelWarn), Strict: strict}
}
