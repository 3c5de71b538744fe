// Package deployfiles checks the files of deploy with the tools that read them: kustomize, Helm,
// the types of Kubernetes, Prometheus, which scrapes a run and evaluates the tests of the alerts,
// and Docker and systemd where they are installed.
//
// It is a module of its own: the tools have many dependencies that the product does without.
//
// Guarantees: the program knows every argument and configuration that the files give it, manifests
// have no unknown fields, every alert has a section in the runbook and a test, every panel of the
// dashboard shows something of a run that was scraped, and a release that is built again elsewhere
// is the same bytes.
//
// Not guaranteed: that images of others can be pulled, or that a cluster accepts the manifests.
package deployfiles
