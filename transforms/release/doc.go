// Package release decides the published values of a turn: it adds up the partial counts of a
// release shard, releases every key along its ladder, publishes the values that are not published
// yet, and settles the turn once all shards have acknowledged it. It depends on neither Beam nor
// Kafka: values go to a [Publisher], settlements to a [SettlementWriter]. The stages RELEASE and
// SETTLE of package transforms call [Releaser] and [Settler].
//
// Guarantees: a value that is published again has the same bytes, or the deployment stops; a
// superseded epoch publishes and acknowledges nothing; a turn is acknowledged only after all its
// values are published.
package release
