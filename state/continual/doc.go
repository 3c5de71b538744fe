// Package continual publishes the count of a stream after every step, with noise that is correlated
// across steps: binary tree aggregation (Dwork, Naor, Pitassi and Rothblum, 2010; Chan, Shi and
// Song, 2011) and the square root of the matrix of prefix sums (Henzinger, Upadhyay and Upadhyay,
// 2023; Fichtenberger, Henzinger and Upadhyay, 2023), with an account for each user.
//
// Each is a factorisation A = B·C of the matrix of prefix sums: Gaussian noise z is added to C·x,
// and B·(C·x + z) is published. A user whose contributions to the steps are Δ changes only C·x, by
// C·Δ, so the loss is ‖C·Δ‖/σ-GDP. A user pays for each step with a contribution, most for the
// first, and for how the contributions add up: within one node of a tree, or one row of the root,
// contributions to several steps together cost more than separately.
//
// # Why an account may be adaptive
//
// C is lower triangular (in a tree, a node is published when its last step is over), so row i of
// C·x + z is a Gaussian mechanism on the contributions so far, whose sensitivity to this user is
// |(C·Δ)_i|. Contributions and their admission may depend on everything published before: fully
// adaptive composition of Gaussian mechanisms (Koskela, Tobaben and Honkela, Theorem 11; for this
// family Denisov, McMahan, Rush, Smith and Thakurta, 2022, Theorem 2.1) asks only that Σ_i (C·Δ)_i²
// ≤ B²σ² on every path. An Account admits a contribution if that holds with it and without any
// later one. Contributions are counts and so never negative: no later one takes anything back, and
// the admitted ones stay within the budget.
//
// # Guarantees
//
//   - C has integer entries, in units that the Matrix states, so prices are exact integers; a
//     budget is rounded down, a charge up.
//   - A refused contribution changes nothing.
//
// # Limits
//
// The package draws no noise (transforms/mechanisms.GaussianNoise does) and sees no user data
// except counts. The estimates of Root are computed in floating point from values that are already
// protected. An account depends on its user's data: publish neither the account nor the names of
// users whose contributions were refused.
package continual
