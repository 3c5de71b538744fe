// Package serve shows a deployment's released values to the public over HTTP: the live page
// (package report's, which shows new values as they are published), a small JSON API that
// docs/openapi.yaml describes, and what operators ask: health, readiness, metrics.
//
// Guarantees: the process reads the counts topic and the topic of the ends of turns, and nothing
// else: it has no key, and no user id, raw count or key that was not released can be in an answer.
// A key that was not released in a window and one that no event ever had give the same bytes.
// Every answer is made of one moment's values. The page is made and compressed once for each
// change, not for each request. Memory is bounded: Options.Keep windows of each metric,
// report.MaxPoints values in all; Options.Clients connections at once; limits on the size and the
// time of requests and answers. Only the addresses of docs/openapi.yaml are answered with anything
// but an error.
//
// Not guaranteed: encryption, and limits for each client: that is for a proxy in front. The newest
// window of a metric is kept whole, however many values it has. Two processes that began to read at
// different times can keep different old windows, where report.MaxPoints is reached.
package serve
