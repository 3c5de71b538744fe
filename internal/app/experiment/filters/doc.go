// Package filters implements the experiments on individual privacy accounting with Gaussian
// differential privacy (Koskela, Tobaben and Honkela): how many more steps a Gaussian filter admits
// than a Rényi filter, the cost of sampled mechanisms for single users by privacy loss
// distributions and by Rényi divergences, and the effect of filtering on groups of users.
//
// Guarantees: every ε is an upper bound, computed by state/…. Not guaranteed: that real gradients
// resemble the synthetic ones.
package filters
