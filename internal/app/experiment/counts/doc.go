// Package counts implements the experiment on accuracy-first composition (Rogers, Samorodnitsky, Wu
// and Ramdas, 2023, Section 7). It measures how many counts a budget pays for if each count has a
// target for its relative error.
//
// Counts of a Zipf law are released one after the other until the budget is spent. Each count is
// released with less and less noise until the noisy count shows that it is exact enough. The
// methods differ in the price of a count, which is that of the last rung (noise reduction) or of
// all rungs (doubling), and in how prices add up.
//
// Guarantees: every loss passes a filter of state/accounting before its noise is drawn. Not
// guaranteed: exact noise (it is drawn in floating point from a seed).
package counts
