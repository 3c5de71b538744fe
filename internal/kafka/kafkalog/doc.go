// Package kafkalog reads and writes Kafka partitions as logs: exact offsets, exact timestamps,
// exactly one copy of every appended batch, and errors that say what to check.
//
// # One codec, one connection
//
// A request reaches a broker in one way: a conn writes its frame and reads that of the response,
// and codec.go encodes and decodes both with github.com/twmb/franz-go/pkg/kmsg. Record batches are
// encoded and decoded here (record_batch.go, record_set.go). From github.com/segmentio/kafka-go
// come the interface of SASL mechanisms, and the brokers' error codes.
//
// Requests go neither through kafka-go's Client and Transport nor through franz-go's kgo.Client,
// because both lose what this package promises: kafka-go the cause of a failed dial, the end of a
// call with its context or with Close, and fresh metadata when a leader moves; kgo the cause of a
// failed authentication, the end of a call while a connection is made, and reads that do not wait
// for each other. kgo.ProcessFetchPartition, which decodes records, loses record times after April
// 2262. docs/dependencies.md has what was measured.
//
// # Guarantees
//
//   - Dial asks for ApiVersions and metadata before anything else, and explains a failure: wrong
//     password, wrong mechanism, TLS missing or not spoken, unknown certificate, no listener.
//   - Fetcher.Poll returns committed records only, in log order per partition, and a next offset
//     after everything that was looked at. Data in any wanted partition ends a long poll at once.
//   - Records stay valid for ever: their bytes belong to the response with which they came, which
//     is used for no other. (One kept record keeps its response of about MaxBytes in memory: copy
//     what is kept for long.) Those of a Fetcher with Reuse are valid until its next Poll.
//   - Producer.Append returns without an error only when every in-sync replica has the records,
//     once. A batch whose outcome is unknown is looked for in the log and sent again byte for byte;
//     the broker recognises it by producer id, epoch and sequence. One batch is in flight at a
//     time.
//   - A Producer with a transactional id is fenced (ErrFenced) once another one has taken the same
//     id and written to the partition. Kafka fences only on partitions that the new owner has
//     written to; an owner therefore calls Fence before it trusts what it reads. Appends repeat it
//     every hour, so that the broker does not forget the transactional id.
//   - During changes of leader, lost connections and broker restarts, calls are tried again for
//     Config.RetryFor; with Config.MayChange also while a broker that has let the client in refuses
//     it. Connections are replaced before a broker ends their authentication.
//   - Connections are the only resource: no goroutine outlives Close, and none runs between calls
//     except one per outstanding long poll.
//
// # What it does not do
//
//   - No consumer groups, no transactions across partitions, no compression of what it writes.
//   - Batches in a format older than Kafka 0.11 are reported as ErrCorrupt.
//   - An error of an append other than a refusal means "unknown", not "not written". The producer
//     then refuses further appends, because with its sequence used again for other bytes, these
//     could be lost without an error.
//   - The broker forgets a transactional id after transactional.id.expiration.ms without a Fence,
//     and a producer after producer.id.expiration.ms without writes. A writer whose last Fence is
//     older asks before it writes; only one that is halted within an append for as long is not
//     fenced.
//   - When the epochs of a transactional id are used up (after 32766 takeovers), the broker changes
//     the producer id; a writer that still has the old id with the last epoch is not fenced.
//
// Error texts and logs name brokers, topics, partitions, offsets and error codes, never keys or
// values.
package kafkalog
