// Package outcomes formats the outcomes of a deployment's records as a table for the holder of the
// data, and decides whether most of the records were lost before counting.
//
// Guarantees: the table has a row for every outcome that at least one record has, and the rows
// below a heading add up to the number in the heading. Everything except the decision is exact, and
// for the trusted side only.
//
// Not guaranteed: an exact number of lost records if there are several metrics. The tallies do not
// show which records two metrics share, so the number is then an estimate (see Lost).
package outcomes
