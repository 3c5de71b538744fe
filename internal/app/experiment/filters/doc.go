// Package filters has the experiments of individual privacy accounting with Gaussian differential
// privacy (Koskela, Tobaben and Honkela): how many more steps a Gaussian filter admits than a
// Rényi filter, what sampled mechanisms cost single users by privacy loss distributions and by
// Rényi divergences, and what filtering does to groups of users.
//
// Guarantees: every ε is an upper bound computed by state/…, of the mechanisms that are named.
// Not guaranteed: that gradients are like the ones made up here.
package filters
