package run

import (
	"errors"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/monitor"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// monitorFlags are the flags for what a run serves over HTTP.
type monitorFlags struct {
	listen            string
	trusted, profiles bool
}

func (f *monitorFlags) checkMonitor() error {
	switch {
	case f.listen == "" && f.trusted:
		return command.Usage(errors.New("--metrics-trusted is only used with --listen"))
	case f.listen == "" && f.profiles:
		return command.Usage(errors.New("--pprof is only used with --listen"))
	}
	return nil
}

// serve starts the HTTP server of --listen before the run begins. It returns functions that pass
// the state of the run to the server, and stop it.
func (f *monitorFlags) serve(a *app, progress *terminal.Progress) (set func(pipeline.RunState), stop func(),
	err error) {
	if f.listen == "" {
		return func(pipeline.RunState) {}, func() {}, nil
	}
	b := a.Build()
	m := monitor.New(monitor.Options{Version: b.Version, Revision: b.Revision, Trusted: f.trusted,
		Profiles: f.profiles})
	l, err := command.Listen(f.listen)
	if err != nil {
		return nil, nil, err
	}
	server := monitor.Serve(l, m.Handler())
	progress.Note("metrics and readiness at http://%s/metrics and /-/ready", server.Addr())
	return m.Set, func() { server.Close() }, nil //nolint:errcheck // nothing is lost with it
}
