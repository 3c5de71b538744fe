// Package release decides the published values of a turn. It adds up the partial counts of a
// release shard, releases every key along its ladder, publishes the values that have not been
// published yet, and settles the turn after all shards have acknowledged it. It depends on neither
// Beam nor Kafka: values go to a [Publisher], settlements to a [SettlementWriter]. The stages
// RELEASE and SETTLE of package transforms call [Releaser] and [Settler].
//
// Guarantees: a value that is published a second time has the same bytes, or the deployment stops.
// A superseded epoch publishes and acknowledges nothing. A turn is acknowledged only after all its
// values are published.
package release
