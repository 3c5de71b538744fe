package command

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on the address of --listen.
func Listen(address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, Must("listen", "host:port with a port up to 65535, for example 127.0.0.1:8080, or :8080 for all "+
			"addresses")
	}
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--listen %s: another process has this port: end it, or choose another port", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("--listen %s: this user may not have this port: choose one from 1024 on", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("--listen %s: this machine does not have this address: choose one that it has, or "+
			"0.0.0.0 for all", address)
	case err != nil:
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return l, nil
}
