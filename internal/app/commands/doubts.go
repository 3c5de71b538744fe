package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// errDoubts ends what --strict refuses before any topic was looked at.
var errDoubts = errors.New("refused because of --strict")

// doubts says on stderr what is valid in a configuration file and should be otherwise: secrets
// that others can read, and settings under which nothing can be released. strict makes an error
// of it; but for a command that goes on with what has begun, not of a filter that is never true: an
// upgrade must not stop a deployment.
func (a *app) doubts(d *loaded, strict, begun bool) error {
	var all, filters []error
	for _, one := range d.file.Doubts(d.Deployment) {
		if begun && strings.HasSuffix(one.Field, ".filter") {
			filters = append(filters, one)
			continue
		}
		all = append(all, one)
	}
	if err := a.doubt(filters, false); err != nil {
		return err
	}
	return a.doubt(all, strict)
}

// doubtBeginning does the same of what only a deployment that has begun goes on with. Whether it
// has begun, only the brokers know.
func (a *app) doubtBeginning(d *loaded, strict bool) error {
	if err := d.MayBegin(); err != nil {
		return a.doubt([]error{d.explained(err)}, strict)
	}
	return nil
}

// doubts is the same for the flags of a demo.
func (f *demoFlags) doubts(a *app, d *pipeline.Deployment, strict bool) error {
	var all []error
	if f.noiseKeyFile != "" {
		if reason := config.Exposed(f.noiseKeyFile); reason != "" {
			all = append(all, fmt.Errorf("--noise-key-file: %s", reason))
		}
	}
	for _, one := range deployment.Doubts(d) {
		all = append(all, configFlag(one))
	}
	return a.doubt(all, strict)
}

func (a *app) doubt(all []error, strict bool) error {
	if len(all) == 0 {
		return nil
	}
	if strict {
		return contents(fmt.Errorf("%w\n%w", errors.Join(all...), errDoubts))
	}
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "warning: %v\n", one)
	}
	terminal.Say(a.stderr, b.String())
	return nil
}
