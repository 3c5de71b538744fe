package commands

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

// man writes manual pages, of which each command has one.
func man(a *command.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Write manual pages of all commands",
		Example: `  tollgate man --dir /usr/local/share/man/man1`,
		Args:    command.NoArguments("--dir"),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write them to; man creates it if it is missing")
	cmd.MarkFlagRequired("dir") //nolint:errcheck // the flag exists
	cmd.RunE = a.Run(func(cmd *cobra.Command) error {
		if dir == "" {
			return command.Usage(errors.New("--dir is empty: name a directory"))
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		// The same pages whenever they are made.
		day := time.Unix(0, 0).UTC()
		header := &doc.GenManHeader{Title: "TOLLGATE", Section: "1", Date: &day, Source: "Tollgate " +
			a.Build().Version, Manual: "Tollgate"}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		if err := doc.GenManTree(root, header, dir); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		return nil
	})
	return cmd
}
