package serve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Options are options of Run.
type Options struct {
	Title   string        // of the page; default: the deployment's name
	Keep    int           // windows of each metric that are kept; at least 1
	Clients int           // connections at once; at least 1
	Refresh time.Duration // how often a page that is open asks for new values
	Logger  *slog.Logger
}

// Limits on one request and its response. A slower client is cut off.
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	answerTime  = 30 * time.Second // 2 MB of a packed page at 0.6 Mbit/s
	idleTime    = 30 * time.Second
	headerBytes = 16 << 10 // net/http adds 4 kB
	endTime     = 5 * time.Second
)

// Run serves a deployment's released values on a listener, which it closes, until ctx ends. It
// waits for Kafka as long as ctx lasts, and says to Logger what it waits for. Errors: a
// *deployment.ConfigError for security settings that cannot be used, report.ErrConflict where
// counts has two values for one cell, and what the listener says.
func Run(ctx context.Context, d *deployment.Deployment, l net.Listener, o Options) error {
	defer l.Close() //nolint:errcheck // an error would be one of having closed it before
	s, err := newServer(d, o)
	if err != nil {
		return err
	}
	handler, err := s.handler()
	if err != nil {
		return err
	}
	web := newWeb(handler, o.Logger)
	l = netutil.LimitListener(small{l}, o.Clients)
	group, ctx := errgroup.WithContext(ctx)
	f := newFeed(s, report.MaxPoints)
	group.Go(func() error { return f.follow(ctx) })
	group.Go(func() error { return f.show(ctx) })
	group.Go(func() error {
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.ending.Store(true)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if web.Shutdown(end) != nil {
			web.Close() //nolint:errcheck // clients that are too slow are cut off
		}
		return nil
	})
	return group.Wait()
}

// newWeb returns a server with the limits above.
func newWeb(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: answerTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: headerBytes, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(quiet{func(text string) { logger.Error(text) }}, "", 0),
	}
}

// sendBytes is about how much of a response the system buffers for a client that does not read it:
// the default is megabytes.
const sendBytes = 128 << 10

// small is a listener whose connections keep sendBytes.
type small struct{ net.Listener }

// Accept implements net.Listener.
func (s small) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(sendBytes) //nolint:errcheck // without it the system's own limit applies
	}
	return c, err
}
