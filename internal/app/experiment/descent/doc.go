// Package descent has the experiments of private gradient descent with individual filtering
// (Feldman and Zrnic 2021, Section 5, and the tables of its conference version): every example is
// one user, whose clipped gradients are paid from an account of their own, and examples with small
// gradients go on helping after those with large ones have left.
//
// Guarantees: accounts are filters of squared norms (accounting.NewNorm), rounded against the user
// who pays, so that no account is ever overdrawn: Propositions 5.1 and 5.2 with the noise of the
// setting. The same seed gives the same model on any number of processors of an architecture.
//
// Not guaranteed: the paper's convolutional network. The models here are a linear one, a logistic
// one, and a network with one hidden layer; the noise is drawn from the seed, in floating point,
// and protects no user.
package descent
