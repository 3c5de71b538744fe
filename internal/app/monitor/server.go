package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Limits of the server.
const (
	maxClients   = 64
	headerBytes  = 8 << 10
	requestTime  = 10 * time.Second // for receiving a request, and between two requests
	responseTime = 2 * time.Minute  // a profile takes half a minute
)

// Server is a running HTTP server.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Serve serves a handler on a listener until the Server is closed, which also closes the listener.
// It does not serve web pages of other sites.
func Serve(listener net.Listener, h http.Handler) *Server {
	s := &Server{listener: netutil.LimitListener(listener, maxClients), done: make(chan struct{}), http: &http.Server{
		Handler: guarded(h, isLocal(listener.Addr())), ReadHeaderTimeout: requestTime, ReadTimeout: requestTime,
		WriteTimeout: responseTime, IdleTimeout: requestTime, MaxHeaderBytes: headerBytes,
		ErrorLog: log.New(io.Discard, "", 0), // a log must not contain data of clients
	}}
	go func() {
		defer close(s.done)
		s.http.Serve(s.listener) //nolint:errcheck // it ends with Close
	}()
	return s
}

// Addr returns the address of the listener.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends the server. Open requests have a second to finish.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.done
	if err != nil {
		return fmt.Errorf("ending the HTTP server: %w", err)
	}
	return nil
}
