// Package descent implements the experiments on private gradient descent with individual filtering
// (Feldman and Zrnic 2021, Section 5, and the tables of the conference version). Every example is a
// user with an account that pays for its clipped gradients. Examples with small gradients continue
// to contribute after those with large ones have left.
//
// Guarantees: accounts are filters of squared norms (accounting.NewNorm), rounded up, so that none
// is ever overdrawn: Propositions 5.1 and 5.2 hold with the noise of the setting. The same seed
// gives the same model on any number of processors of one architecture.
//
// Not guaranteed: the paper's convolutional network. The models here are a linear one, a logistic
// one, and a network with one hidden layer. The noise is drawn from the seed in floating point, and
// protects no user.
package descent
