// Package integration holds the tests of the whole: the pipeline against the embedded broker, compared byte for byte with the
// sequential reference (internal/reference), under other partitionings, arrival orders, drains, kills (−9), zombies, deleted
// events and engine restores, and attacked with pairs of neighbouring inputs. It has no code for the product.
//
// Guarantees: a test that passes has compared every record of the counts topic, every account that ledger and control imply, and
// all tallies. `go test -short ./integration` takes seconds and runs one small case of each; without -short the same tests run
// with the numbers that the protocol is promised for (200 kills among them).
//
// Not covered: brokers other than the embedded one, engines other than prism, TLS and SASL.
package integration
