// Package experiment defines experiments and their results, and writes results as text, JSON and
// HTML. The experiments are in the subdirectories; cmd/experiments lists them.
//
// Guarantees: a result depends only on its Options, not on GOMAXPROCS, the machine or the time of
// day. A cell that cannot be reproduced is empty, never made up. Tables, figures and JSON contain
// only finite numbers, because Result.check refuses others.
//
// Not guaranteed: privacy. Experiments draw their noise from a published seed, so that anybody can
// repeat them. They must not be used on data of people who need protection. No package of the
// product imports this package.
package experiment
