// Package deployfiles checks the files of deploy: kustomize and Helm render the manifests, the
// types of Kubernetes decode them, and the program reads their arguments and configurations.
// .ci/run calls promtool, Docker and systemd, and builds a release twice.
//
// It is a module of its own: the tools have many dependencies that the product does without.
//
// Guarantees: the program knows every argument and configuration that the files give it, manifests
// have no unknown fields, every alert has a section in the runbook, and the metrics that the alerts
// and the dashboard name exist.
//
// Not guaranteed: that images of others can be pulled, or that a cluster accepts the manifests.
package deployfiles
