// Package outcomes formats the outcomes of a deployment's records as a table for the holder of the
// data, and decides whether most of the records were lost before counting.
//
// Guarantees: the table has a row for every outcome of at least one record, and the rows below a
// heading add up to it. Everything except the decision is exact, and for the trusted side only.
//
// Not guaranteed: with several metrics the tallies do not show which records two metrics share, so
// the number of records that both lost is an estimate (see Lost).
package outcomes
