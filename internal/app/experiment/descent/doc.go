// Package descent implements the experiments on private gradient descent with individual filtering
// (Feldman and Zrnic 2021, Section 5, and the tables of the conference version). Every example is a
// user whose account pays for the example's clipped gradients. Examples with small gradients
// continue to contribute after examples with large gradients have left.
//
// Guarantees: accounts are filters of squared norms (accounting.NewNorm). Squared norms are rounded
// up, so that no account is ever overdrawn: Propositions 5.1 and 5.2 hold with the noise of the
// setting. The same seed gives the same model on any number of processors of one architecture.
//
// Not guaranteed: the paper's convolutional network. The models here are a linear model, a logistic
// model, and a network with one hidden layer. The noise is drawn from the seed in floating point,
// and protects no user.
package descent
