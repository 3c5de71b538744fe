// Package deployfiles tests the files of the directory deploy. kustomize and Helm render the
// manifests, the types of Kubernetes decode them, and Tollgate reads their arguments and
// configurations. .ci/run calls promtool, Docker and systemd, and builds a release twice.
//
// It is a separate module, because its tools have many dependencies that the product must not have.
//
// Guarantees: Tollgate accepts every argument and configuration in the files. Manifests have no
// unknown fields, every alert has a section in the runbook, and the metrics of the alerts and the
// dashboard exist.
//
// The tests do not show that third-party images exist, or that a cluster accepts the manifests.
package deployfiles
