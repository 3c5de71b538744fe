package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) version() *cobra.Command {
	var f format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built with",
		Args:  cobra.NoArgs,
	}
	formatFlag(cmd, &f)
	cmd.RunE = a.run(func(*cobra.Command) error {
		version, revision := "(devel)", "unknown"
		if info, ok := debug.ReadBuildInfo(); ok {
			if info.Main.Version != "" {
				version = info.Main.Version
			}
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					revision = s.Value
				}
			}
		}
		return printFields(a.stdout, f, []field{
			{"version", version}, {"revision", revision},
			{"go", runtime.Version()}, {"platform", runtime.GOOS + "/" + runtime.GOARCH},
		})
	})
	return cmd
}
