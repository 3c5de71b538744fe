// Package serve shows a deployment's released values to the public over HTTP: the live page of
// package report, which shows new values as they are published; a small JSON API, described in
// docs/openapi.yaml; and health, readiness and metrics for operators.
//
// Guarantees:
//   - The process reads only the counts topic and the topic with the ends of turns, and has no key.
//     A response therefore cannot contain user ids, raw counts or unreleased keys. A key that was
//     not released in a window gives the same bytes as a key that does not exist.
//   - Every response shows the values as of one moment. The page is made and compressed once for
//     each change, not for each request.
//   - Memory is bounded by Options.Keep windows of each metric, report.MaxPoints values in total,
//     Options.Clients connections, and limits on the size and the time of requests and responses.
//   - All addresses outside docs/openapi.yaml give an error.
//
// Not guaranteed: encryption, and limits for each client; both need a proxy in front. The newest
// window of a metric is kept completely, however many values it has. If report.MaxPoints is
// reached, two processes that began at different times can keep different old windows.
package serve
