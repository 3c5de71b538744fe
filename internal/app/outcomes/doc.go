// Package outcomes presents the outcomes of a deployment's records on their way into counts, from
// the exact tallies: as a table for the holder of the data, and as the decision whether most of
// them were lost before counting.
//
// Guarantees: a row for every outcome of at least one record, and none for the others; the rows
// of a part add up to its whole. Everything here is exact and for the trusted side only, but for
// the decision, which is coarse.
//
// Not guaranteed: with several metrics the tallies do not say which records two metrics have in
// common, so that what both lost together is an estimate (see Lost).
package outcomes
