package flink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// IsWorker reports whether Flink started this program as a worker.
func IsWorker(args []string) bool {
	id, provision := workerArgs(args)
	return id != "" && provision != ""
}

// workerArgs returns the two Beam arguments that a worker needs.
func workerArgs(args []string) (id, provision string) {
	for _, a := range args {
		if v, found := strings.CutPrefix(a, "--id="); found {
			id = v
		}
		if v, found := strings.CutPrefix(a, "--provision_endpoint="); found {
			provision = v
		}
	}
	return id, provision
}

// Worker serves the stages that Flink assigns to this process until the TaskManager that started
// the process ends it. args are the program's arguments. Call pipeline.OpenRuns before Worker.
func Worker(ctx context.Context, args []string) error {
	id, provision := workerArgs(args)
	if id == "" || provision == "" {
		return errors.New("starting a worker: --id or --provision_endpoint is missing: do not start workers " +
			"yourself; a Flink TaskManager does")
	}
	beamOnce.Do(beam.Init)
	ctx = grpcx.WriteWorkerID(ctx, id)
	info, err := tools.ProvisionInfo(ctx, provision)
	if err != nil {
		return fmt.Errorf("starting a worker: calling the TaskManager at %s: %w", provision, err)
	}
	err = harness.MainWithOptions(ctx, info.GetLoggingEndpoint().GetUrl(), info.GetControlEndpoint().GetUrl(),
		harness.Options{
			StatusEndpoint: info.GetStatusEndpoint().GetUrl(), RunnerCapabilities: info.GetRunnerCapabilities(),
		})
	if err != nil {
		return fmt.Errorf("serving the TaskManager at %s: %w", provision, err)
	}
	return nil
}

// NewLogger returns a logger for a worker, which writes to the log of its TaskManager.
func NewLogger() *slog.Logger { return slog.New(&handler{}) }

// handler passes records to Beam's log, which a worker sends to its TaskManager.
type handler struct {
	attrs  []slog.Attr
	groups string
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	write := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	}
	for _, a := range h.attrs {
		write(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		a.Key = h.groups + a.Key
		return write(a)
	})
	severity := beamlog.SevInfo
	switch {
	case r.Level >= slog.LevelError:
		severity = beamlog.SevError
	case r.Level >= slog.LevelWarn:
		severity = beamlog.SevWarn
	}
	beamlog.Output(ctx, severity, 1, b.String())
	return nil
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	n.attrs = append([]slog.Attr{}, h.attrs...)
	for _, a := range attrs {
		a.Key = h.groups + a.Key
		n.attrs = append(n.attrs, a)
	}
	return &n
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	n := *h
	n.groups += name + "."
	return &n
}
