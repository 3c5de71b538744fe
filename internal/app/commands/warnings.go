package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// errRefusedByStrict ends a command that --strict refuses before it has checked any topic.
var errRefusedByStrict = errors.New("refused because of --strict")

// warnAbout warns on stderr of settings of a configuration file that are valid and probably wrong:
// secrets that others can read, and settings with which nothing can be released. With strict they
// are errors. For a deployment that has begun, a filter that is never true remains a warning,
// because an upgrade must not stop a deployment.
func (a *app) warnAbout(d *loaded, strict, begun bool) error {
	var all, filters []error
	for _, one := range d.file.Warnings(d.Deployment) {
		if begun && strings.HasSuffix(one.Field, ".filter") {
			filters = append(filters, one)
			continue
		}
		all = append(all, one)
	}
	if err := a.warn(filters, false); err != nil {
		return err
	}
	return a.warn(all, strict)
}

// warnAboutBeginning warns of what only a deployment that has begun may keep. Whether it
// has begun, only the brokers know.
func (a *app) warnAboutBeginning(d *loaded, strict bool) error {
	if err := d.MayBegin(); err != nil {
		return a.warn([]error{d.explained(err)}, strict)
	}
	return nil
}

// warnAbout is the same for the flags of a demo.
func (f *demoFlags) warnAbout(a *app, d *pipeline.Deployment, strict bool) error {
	var all []error
	if f.noiseKeyFile != "" {
		if reason := config.Exposed(f.noiseKeyFile); reason != "" {
			all = append(all, fmt.Errorf("--noise-key-file: %s", reason))
		}
	}
	for _, one := range deployment.Warnings(d) {
		all = append(all, f.configFlag(one))
	}
	return a.warn(all, strict)
}

func (a *app) warn(all []error, strict bool) error {
	if len(all) == 0 {
		return nil
	}
	if strict {
		return contents(fmt.Errorf("%w\n%w", errors.Join(all...), errRefusedByStrict))
	}
	var b strings.Builder
	for _, one := range all {
		if j, ok := a.stderr.(*jsonLines); ok {
			j.record(&b, slog.LevelWarn, one.Error()) // with its lines
		} else {
			fmt.Fprintf(&b, "warning: %v\n", one)
		}
	}
	terminal.Say(a.stderr, b.String())
	return nil
}
