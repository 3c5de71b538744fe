// Package deployfiles checks the files of deploy for people who have Docker or Kubernetes, with the
// code of the tools that read them: the parser of Dockerfiles with its lint, the loader of compose
// files, kustomize, Helm, the types of Kubernetes and of Prometheus' operator, the schema of the
// Flink operator's resource, and Prometheus with its rules, scraper, database and queries.
//
// It is a module of its own: those tools depend on much that the product does without.
//
// Guarantees: every field is known to its reader and of its type, and the settings of Flink are the
// same in all places. What names other objects names one that is there. Every alert fires and
// clears, every panel of the dashboard shows something of a run that was scraped, and a release is
// the same bytes when it is built again elsewhere.
//
// Where a Docker engine answers, images are built by their own lines and run.
//
// Not guaranteed: that images of others can be pulled, or that a cluster accepts what names
// resources beyond these files.
package deployfiles
