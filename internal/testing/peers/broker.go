package main

import (
	"context"

	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// startBroker starts a broker of a kind and returns the function that ends it. The address of an
// embedded broker is empty: the measured process starts it.
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
