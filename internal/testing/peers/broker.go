package main

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// startBroker starts a broker of the given kind and returns a function that stops it. For an
// embedded broker, which the measured process starts, the address is empty.
func startBroker(ctx context.Context, kind string) (addr string, stop func() error, err error) {
	if kind != "kafka" {
		return "", func() error { return nil }, nil
	}
	b, err := realkafka.Start(ctx, realkafka.Options{})
	if err != nil {
		return "", nil, err
	}
	return b.Addr(), b.Close, nil
}
