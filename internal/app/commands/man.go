package commands

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
)

//go:embed man.txt
var manHelp string

// man writes manual pages, of which each command has one.
func man(a *command.App) *cobra.Command {
	var dir string
	return a.New("man", manHelp, func(cmd *cobra.Command) {
		cmd.Flags().StringVar(&dir, "dir", "", "")
		cmd.MarkFlagRequired("dir") //nolint:errcheck // the flag exists
	}, func(cmd *cobra.Command) error {
		if dir == "" {
			return command.Usage(errors.New("--dir is empty: name a directory"))
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		day := time.Unix(0, 0).UTC() // the same pages whenever they are made
		header := &doc.GenManHeader{Title: "TOLLGATE", Section: "1", Date: &day, Source: "Tollgate " +
			a.Build().Version, Manual: "Tollgate"}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		if err := doc.GenManTree(root, header, dir); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		return nil
	})
}
