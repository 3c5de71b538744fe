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

// Options configures Run.
type Options struct {
	Title   string        // title of the page; default: the deployment's name
	Keep    int           // number of windows to keep of each metric; at least 1
	Clients int           // maximum number of connections; at least 1
	Refresh time.Duration // interval between an open page's requests for new values
	Logger  *slog.Logger
}

// Limits on one request and its response. A slower client is cut off.
const (
	headerTime   = 5 * time.Second
	requestTime  = 10 * time.Second
	responseTime = 30 * time.Second // enough for a compressed page of 2 MB at 0.6 Mbit/s
	idleTime     = 30 * time.Second
	headerBytes  = 16 << 10 // net/http adds 4 kB
	endTime      = 5 * time.Second
)

// Run serves a deployment's released values on a listener until ctx ends, and closes the listener.
// While it waits for Kafka, it logs the reason. Errors: a *deployment.ConfigError for unusable
// security settings, report.ErrConflict if counts contains two different values for a cell, and the
// listener's errors.
func Run(ctx context.Context, d *deployment.Deployment, l net.Listener, o Options) error {
	defer l.Close() //nolint:errcheck // it may be closed already
	s, err := newServer(d, o)
	if err != nil {
		return err
	}
	handler, err := s.handler()
	if err != nil {
		return err
	}
	web := newWeb(handler, o.Logger)
	l = netutil.LimitListener(smallBuffers{l}, o.Clients)
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
		Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: responseTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: headerBytes, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(quiet{func(text string) { logger.Error(text) }}, "", 0),
	}
}

// sendBytes limits the system's buffer for a client that does not read. The default limit is
// several megabytes.
const sendBytes = 128 << 10

// smallBuffers is a listener whose connections have a buffer of sendBytes.
type smallBuffers struct{ net.Listener }

// Accept implements net.Listener.
func (s smallBuffers) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(sendBytes) //nolint:errcheck // if it fails, the system's own limit applies
	}
	return c, err
}
