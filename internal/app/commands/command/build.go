package command

import (
	"cmp"
	"runtime/debug"
)

// Release is the version and the revision of a released binary; empty in all others.
type Release struct{ Version, Revision string }

// build is the source that a program was made of, as far as Go has written it down.
type build struct{ Module, Version, Revision string }

// Build reads what go build, go install and go run write down, unless this is a release.
func (a *App) Build() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b := build{
		Module:   cmp.Or(info.Main.Path, "github.com/tollgate-dp/tollgate"),
		Version:  cmp.Or(a.Release.Version, info.Main.Version, "(devel)"),
		Revision: cmp.Or(a.Release.Revision, settings["vcs.revision"]),
	}
	switch {
	case b.Revision == "" && b.Version != "(devel)":
		b.Revision = "that of the version"
	case b.Revision == "":
		b.Revision = "unknown: go writes it down with -buildvcs=true in a git tree"
	case a.Release.Revision == "" && settings["vcs.modified"] == "true":
		b.Revision += " and changes that are not committed"
	}
	return b
}
