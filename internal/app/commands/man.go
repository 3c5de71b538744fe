package commands

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man writes manual pages, of which each command has one.
func (a *app) man() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man",
		Short:   "Write manual pages of all commands",
		Example: `  tollgate man --dir /usr/local/share/man/man1`,
		Args:    noArguments("--dir"),
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write them to; man creates it if it is missing")
	cmd.MarkFlagRequired("dir") //nolint:errcheck // the flag exists
	cmd.RunE = a.run(func(cmd *cobra.Command) error {
		if dir == "" {
			return usage(errors.New("--dir is empty: name a directory"))
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		// The same pages whenever they are made.
		day := time.Unix(0, 0).UTC()
		header := &doc.GenManHeader{Title: "TOLLGATE", Section: "1", Date: &day, Source: "Tollgate " + a.build().version, Manual: "Tollgate"}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		if err := doc.GenManTree(root, header, dir); err != nil {
			return fmt.Errorf("writing manual pages: %w", err)
		}
		return nil
	})
	return cmd
}
