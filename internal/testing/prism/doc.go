// Package prism runs the stages of a deployment on prism, Beam's local runner, so that tests can
// compare what they release with what the product's own engine, transforms/direct, releases.
//
// It guarantees that jobs ask for bundles without splits (see package localrunner). An error of a
// stage does not keep its type: prism passes errors on as text. Beam logs every job through the
// process's default logger, which drops everything once Execute was called.
package prism
