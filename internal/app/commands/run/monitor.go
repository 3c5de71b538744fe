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

// watched is the HTTP server of a run with --listen; otherwise its fields are nil.
type watched struct {
	set    func(pipeline.RunState)
	server *monitor.Server
}

// serve starts the server before the run begins.
func (f *monitorFlags) serve(a *app, progress *terminal.Progress) (watched, error) {
	if f.listen == "" {
		return watched{}, nil
	}
	b := a.Build()
	m := monitor.New(monitor.Options{Version: b.Version, Revision: b.Revision, Trusted: f.trusted,
		Profiles: f.profiles})
	l, err := command.Listen(f.listen)
	if err != nil {
		return watched{}, err
	}
	server := monitor.Serve(l, m.Handler())
	progress.Note("metrics and readiness at http://%s/metrics and /-/ready", server.Addr())
	return watched{m.Set, server}, nil
}

func (w *watched) close() {
	if w.server != nil {
		w.server.Close() //nolint:errcheck // nothing is lost with it
	}
}
