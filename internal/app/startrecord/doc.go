// Package startrecord keeps a record beside the keys of a deployment. The record lists the
// deployments that have begun under the keys, each with its Kafka cluster, its incarnation and the
// time. A second deployment under the same keys gives the same people the same budget once more,
// and the losses add up. The control topic of the second deployment is empty and cannot show the
// first one; only the record can.
//
// The record contains two lines for each beginning. The first line, with the incarnation, is synced
// to disk before HEADER is written. The second line is written once HEADER is on control:
//
//   - A crash before the first line has no effect.
//   - After a crash between the two lines, nothing has been released, because no run starts without
//     the second line. Another init draws a new incarnation, or adds the second line for the HEADER
//     that it finds. On another cluster or topic, the operator must confirm the beginning, because
//     a record that lost its second line looks the same.
//   - After the second line, an empty control topic means another cluster, another topic, or a
//     loss. A deployment that begins there is a second promise, and the operator must confirm it.
//
// If two processes begin a deployment at the same time on one cluster, control gets one HEADER. On
// two clusters, the deployment whose second line is written first counts, and runs refuse the
// other. If HEADER were written before the first line, a crash could leave a deployment that can
// release values but is not recorded.
//
// Nothing is guaranteed if the record is deleted or edited, or not copied along with the keys.
package startrecord
