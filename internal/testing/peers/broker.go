package main

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// startBroker starts a broker of the given kind and returns its address and a function that stops
// it. The measured process starts an embedded broker itself: the address is then empty.
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
