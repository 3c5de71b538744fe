// Package filters implements the experiments on individual privacy accounting with Gaussian
// differential privacy (Koskela, Tobaben and Honkela). They show how many more steps a Gaussian
// filter admits than a Rényi filter, what sampled mechanisms cost single users by privacy loss
// distributions and by Rényi divergences, and how filtering affects groups of users.
//
// Guarantees: every ε is an upper bound, computed by state/…. Not guaranteed: that real gradients
// resemble the synthetic ones.
package filters
