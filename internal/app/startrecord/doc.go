// Package startrecord records, with the keys of a deployment, that it has begun: on which cluster
// of Kafka, with which incarnation, and when. A second deployment under the same keys promises the
// same people the same budget once more, so that what it reveals adds up; its HEADER goes to an
// empty topic, which knows nothing of the first one. Only what lies with the keys can tell.
//
// The record has two lines for each beginning. The first, with an incarnation, is on the disk
// before HEADER is written; the second only once control holds the HEADER of that incarnation. So:
//
//   - A crash before the first line has begun nothing.
//   - Between the two lines nothing was released, as no run goes on without the second one: another
//     init draws a new incarnation, or completes the HEADER that it finds. On another cluster or
//     topic it has to be asked for: a record that lost its second line looks the same.
//   - After the second line an empty control topic is another cluster, another topic, or a loss: a
//     beginning there is a second promise, and has to be asked for.
//
// Of two processes that begin at once, on one cluster, control has one HEADER. On two clusters, the
// second line that comes first counts, and runs refuse the other deployment. In this order there is
// no moment at which two deployments count without the word of an operator. The other order, HEADER
// first, would leave a deployment that releases and that nothing records.
//
// Not guaranteed: anything where the record was deleted, edited, or left behind when keys were
// copied or replaced.
package startrecord
