package command

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// errRefusedByStrict ends a command that --strict refuses before any topic is checked.
var errRefusedByStrict = errors.New("refused because of --strict")

// WarnAbout warns on stderr about settings in a configuration file that are valid but probably
// wrong: secrets that others can read, and settings with which nothing can be released. With strict
// they are errors. For a deployment that has begun, a filter that is never true remains a warning,
// because an upgrade must not stop a deployment.
func (a *App) WarnAbout(d *Loaded, strict, begun bool) error {
	var all, filters []error
	for _, one := range d.File.Warnings(d.Deployment) {
		if begun && strings.HasSuffix(one.Field, ".filter") {
			filters = append(filters, one)
			continue
		}
		all = append(all, one)
	}
	if err := a.Warn(filters, false); err != nil {
		return err
	}
	return a.Warn(all, strict)
}

// WarnAboutBeginning warns about settings that a new deployment may not have, although one that has
// begun may keep them. Only the brokers know whether it has begun.
func (a *App) WarnAboutBeginning(d *Loaded, strict bool) error {
	if err := d.CheckNew(); err != nil {
		return a.Warn([]error{d.Explained(err)}, strict)
	}
	return nil
}

func (a *App) Warn(all []error, strict bool) error {
	if len(all) == 0 {
		return nil
	}
	if strict {
		return Contents(fmt.Errorf("%w\n%w", errors.Join(all...), errRefusedByStrict))
	}
	var b strings.Builder
	for _, one := range all {
		if j, ok := a.Stderr.(*jsonLines); ok {
			j.record(&b, slog.LevelWarn, one.Error()) // one record, even if it has several lines
		} else {
			fmt.Fprintf(&b, "warning: %v\n", one)
		}
	}
	terminal.Say(a.Stderr, b.String())
	return nil
}
