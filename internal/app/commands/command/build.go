package command

import (
	"cmp"
	"runtime/debug"
)

// Release is the version and the revision of a released binary; empty in other binaries.
type Release struct{ Version, Revision string }

// build identifies the source of a program, as far as Go has recorded it.
type build struct{ Module, Version, Revision string }

// Build returns what go build, go install or go run recorded, unless this is a release.
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
		Revision: cmp.Or(a.Release.Revision, settings["vcs.revision"], "unknown"),
	}
	if a.Release.Revision == "" && settings["vcs.modified"] == "true" {
		b.Revision += " with uncommitted changes"
	}
	return b
}
