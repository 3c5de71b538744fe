// Package pipelinetest runs a Kafka broker in the process, for tests and examples of programs that
// use package pipeline.
//
// The broker keeps its topics in memory. It speaks Kafka's protocol to any client, but does not
// replace Kafka: it is a single broker without replication, and its timestamps are always the
// producer's, so Config.Time.Trust must be pipeline.TrustProducer, and a producer must give each
// record the time of its event as timestamp.
package pipelinetest

import "github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"

// Start starts a broker on a free port of 127.0.0.1. It returns the broker's address, for
// Config.Kafka.Brokers, and a function that stops the broker. The function may be called twice.
func Start() (address string, stop func(), err error) {
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		return "", nil, err
	}
	return broker.Addr(), broker.Close, nil
}
