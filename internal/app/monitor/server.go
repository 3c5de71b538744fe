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

// Limits of a client, and of all together.
const (
	mostClients = 64
	mostHeader  = 8 << 10
	mostTime    = 10 * time.Second // until a request is here, and between two of them
	mostAnswer  = 2 * time.Minute  // a profile takes half a minute
)

// Server is an HTTP server that listens.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Serve serves a handler to those who connect to a listener, which it closes, but not to web pages
// of other sites. Close it.
func Serve(listener net.Listener, h http.Handler) *Server {
	s := &Server{listener: netutil.LimitListener(listener, mostClients), done: make(chan struct{}), http: &http.Server{
		Handler: guarded(h, isLocal(listener.Addr())), ReadHeaderTimeout: mostTime, ReadTimeout: mostTime,
		WriteTimeout: mostAnswer, IdleTimeout: mostTime, MaxHeaderBytes: mostHeader,
		ErrorLog: log.New(io.Discard, "", 0), // a log must not have clients' data
	}}
	go func() {
		defer close(s.done)
		s.http.Serve(s.listener) //nolint:errcheck // it ends with Close
	}()
	return s
}

// Addr is the address that is listened at.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends the server; requests under way have a second to end.
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
