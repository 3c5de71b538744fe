// Package continual publishes the count of a stream after every step, with noise that is correlated
// across steps. It implements binary tree aggregation (Dwork, Naor, Pitassi and Rothblum, 2010;
// Chan, Shi and Song, 2011) and the square root of the matrix of prefix sums (Henzinger, Upadhyay
// and Upadhyay, 2023; Fichtenberger, Henzinger and Upadhyay, 2023), and an account for each user.
//
// Each method is a factorisation A = B·C of the matrix of prefix sums: Gaussian noise z is added to
// C·x, and B·(C·x + z) is published. A user whose contributions to the steps are Δ changes only
// C·x, by C·Δ, so the loss is ‖C·Δ‖/σ-GDP. A user pays for each step with a contribution, and most
// for the first. Within one node of a tree, or one row of the root, contributions to several steps
// cost more together than separately.
//
// # Why an account may be adaptive
//
// C is lower triangular (in a tree, a node is published when its last step is over). Row i of C·x +
// z is thus a Gaussian mechanism on the contributions so far, whose sensitivity to this user is
// |(C·Δ)_i|. Contributions and their admission may depend on everything published before: fully
// adaptive composition of Gaussian mechanisms (Koskela, Tobaben and Honkela, Theorem 11; for this
// family, Denisov, McMahan, Rush, Smith and Thakurta, 2022, Theorem 2.1) requires only that Σ_i
// (C·Δ)_i² ≤ B²σ² on every path. An Account admits a contribution if the inequality holds for the
// contributions up to and including it. Contributions are counts and so never negative. A later one
// cannot reduce the sum, so the admitted ones always satisfy the inequality.
//
// # Guarantees
//
//   - C has integer entries, in units of the Matrix, so prices are exact integers. Budgets are
//     rounded down, and charges are rounded up.
//   - A refused contribution changes nothing.
//
// # Limits
//
// The package draws no noise (transforms/mechanisms.GaussianNoise does) and receives no user data
// except counts. The estimates of Root are computed in floating point, from values that are already
// protected. An account depends on its user's data: publish neither accounts nor the names of users
// whose contributions were refused.
package continual
