package commands

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/schemas"
)

func (a *app) version() *cobra.Command {
	var f cli.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, its build, the formats that it writes and reads, and its engines",
		Args:  noArguments(""),
	}
	cli.FormatFlag(cmd, &f)
	cmd.RunE = a.run(func(*cobra.Command) error {
		b := a.build()
		return a.printFields(f, []field{
			{"module", b.module}, {"version", b.version}, {"revision", b.revision},
			{"go", runtime.Version()}, {"platform", runtime.GOOS + "/" + runtime.GOARCH},
			{"formats", names(formats())},
			{"engines", names(slices.Sorted(maps.Keys(engines)))},
		})
	})
	return cmd
}

// formats lists the formats on a deployment's topics, each with its version.
func formats() (all []string) {
	for _, f := range schemas.FormatVersions() {
		all = append(all, fmt.Sprintf("%s %d", f.Format, f.Version))
	}
	return all
}

// build says which source a program was made of, as far as Go has written it down.
type build struct{ module, version, revision string }

// versionLine is what --version prints.
func (a *app) versionLine() string {
	b := a.build()
	return b.module + " " + b.version + ", revision " + b.revision + ", " + runtime.Version()
}

func (a *app) build() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info).released(a.release.Version, a.release.Revision)
}

// released puts what a release was given before what Go has written down.
func (b build) released(version, revision string) build {
	b.version, b.revision = cmp.Or(version, b.version), cmp.Or(revision, b.revision)
	return b
}

// pseudoVersion matches the version of a commit without a tag: a time, and its revision.
func pseudoVersion() *regexp.Regexp { return regexp.MustCompile(`[-.][0-9]{14}-([0-9a-f]{12})(\+|$)`) }

// buildOf reads what go build, go install and go run write down: the version of a module that
// was fetched, which ends with its revision unless it is a tag; and the revision of a git tree.
func buildOf(info *debug.BuildInfo) build {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := build{
		module:  cmp.Or(info.Main.Path, "github.com/tollgate-dp/tollgate"),
		version: cmp.Or(info.Main.Version, "(devel)"), revision: settings["vcs.revision"],
	}
	if found := pseudoVersion().FindStringSubmatch(info.Main.Version); b.revision == "" && found != nil {
		b.revision = found[1]
	}
	switch {
	case b.revision == "" && b.version != "(devel)":
		b.revision = "that of the tag"
	case b.revision == "":
		b.revision = "unknown: go writes it down with -buildvcs=true in a git tree"
	case settings["vcs.modified"] == "true":
		b.revision += " and changes that are not committed"
	}
	return b
}
