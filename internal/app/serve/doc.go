// Package serve shows a deployment's released values to the public over HTTP: the live page of
// package report, which shows new values as they are published; a small JSON API, described in
// docs/openapi.yaml; and health, readiness and metrics for operators.
//
// Guarantees: the process reads only the counts topic and the topic of the ends of turns and has no
// key, so a response cannot contain user ids, raw counts or unreleased keys. Responses are the same
// bytes for a key that was not released in a window as for a key that does not exist. Every
// response reflects one moment. The page is made and compressed once for each change, not for each
// request. Memory is bounded: Options.Keep windows of each metric, report.MaxPoints values in all,
// Options.Clients connections, and limits on the size and the time of requests and responses. All
// addresses outside docs/openapi.yaml give an error.
//
// Not guaranteed: encryption, and limits for each client; both need a proxy in front. The newest
// window of a metric is kept whole, however many values it has. If report.MaxPoints is reached, two
// processes that began at different times can keep different old windows.
package serve
