package command

import (
	"cmp"
	"regexp"
	"runtime/debug"
)

// Release is the version and the revision of a released binary; empty in all others.
type Release struct{ Version, Revision string }

// build says which source a program was made of, as far as Go has written it down.
type build struct{ Module, Version, Revision string }

func (a *App) Build() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info).released(a.Release.Version, a.Release.Revision)
}

// released puts what a release was given before what Go has written down.
func (b build) released(version, revision string) build {
	b.Version, b.Revision = cmp.Or(version, b.Version), cmp.Or(revision, b.Revision)
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
		Module:  cmp.Or(info.Main.Path, "github.com/tollgate-dp/tollgate"),
		Version: cmp.Or(info.Main.Version, "(devel)"), Revision: settings["vcs.revision"],
	}
	if found := pseudoVersion().FindStringSubmatch(info.Main.Version); b.Revision == "" && found != nil {
		b.Revision = found[1]
	}
	switch {
	case b.Revision == "" && b.Version != "(devel)":
		b.Revision = "that of the tag"
	case b.Revision == "":
		b.Revision = "unknown: go writes it down with -buildvcs=true in a git tree"
	case settings["vcs.modified"] == "true":
		b.Revision += " and changes that are not committed"
	}
	return b
}
