// Package startrecord keeps a record beside the keys of a deployment: which deployments have begun
// under them, on which Kafka cluster, with which incarnation, and when. A second deployment under
// the same keys gives the same people the same budget once more, so that the losses add up.
// Its control topic is empty and cannot show the first deployment; only the record can.
//
// The record contains two lines for each beginning. The first one, with the incarnation, is synced
// to disk before HEADER is written; the second one is written once HEADER is on control:
//
//   - A crash before the first line has no effect.
//   - Between the two lines nothing is released: no run starts without the second line. Another init
//     draws a new incarnation, or completes the HEADER that it finds. On another cluster or topic,
//     the operator must confirm: a record that lost its second line looks the same.
//   - After the second line, an empty control topic means another cluster, another topic, or a loss. A
//     deployment that begins there is a second promise, and the operator must confirm it.
//
// If two processes begin at once on one cluster, control gets one HEADER. On two clusters, the
// deployment whose second line is written first counts, and runs refuse the other. If HEADER were
// written first, a crash could leave a deployment that can release values but is not recorded.
//
// Not guaranteed: anything if the record is deleted, edited, or not copied along with the keys.
package startrecord
