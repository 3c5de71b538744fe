// Package counts has the experiment of accuracy-first composition: as many counts as a budget pays
// for, each to a relative error that was asked for (Rogers, Samorodnitsky, Wu and Ramdas, 2023,
// Section 7).
//
// Counts of a Zipf law are asked for one after the other, until the budget ends. Each is shown
// with less and less noise until the noisy count itself says that it is exact enough. What the
// methods differ in is what that costs: the last rung only (noise reduction), or all of them
// (doubling); and how the costs add up.
//
// Guarantees: every loss goes through a filter of state/accounting before the noise it pays for is
// drawn. Not guaranteed: exact noise (it is drawn in floating point from a seed).
package counts
