// Package kafkalog reads and writes Kafka partitions as logs, with exact offsets, exact timestamps,
// and exactly one copy of every appended batch.
//
// The Transport of github.com/segmentio/kafka-go keeps the connections and negotiates versions; its
// protocol packages contain most requests (transport.go). Responses are decoded by franz-go's kmsg
// (frame.go), because kafka-go allocates whatever length a broker claims. Record batches are
// decoded by record_set.go, because kafka-go drops timestamp types and offsets. The Transport does
// not discover brokers; metadata.go requests the leaders.
//
// # Guarantees
//
//   - Fetcher.Poll returns only committed records, in log order per partition, and a next offset
//     after all records that it has examined. New data in any requested partition ends a long poll.
//   - Producer.Append returns without an error only when every in-sync replica has exactly one copy
//     of the records. If a batch has an unknown outcome, Append looks for it in the log and sends
//     the same bytes again; the broker recognises a batch by producer id, epoch and sequence.
//   - A Producer with a transactional id is fenced (ErrFenced) once another one has taken the same
//     id and written to the partition. An owner therefore calls Fence before it trusts its reads.
//   - Calls retry for Config.RetryFor while leaders change, connections drop or brokers restart.
//     Connections are replaced before a broker ends their authentication.
//   - A call ends with its context, and with Close. Errors and logs never contain keys or values.
//
// # Limits
//
//   - The package has no consumer groups and no transactions across partitions, and does not
//     compress what it writes.
//   - The broker forgets a transactional id after transactional.id.expiration.ms without a Fence. A
//     writer whose last Fence is older checks before it writes; only a writer that is suspended for
//     that long within an append is not fenced.
//   - When the epochs of a transactional id are used up (after 32766 takeovers), the broker changes
//     the producer id; a writer that still has the old id with the last epoch is not fenced.
package kafkalog
