// Package noisereduction draws all noise of a tollgate deployment. It releases counts through
// Brownian noise reduction: first with much noise, then with less and less, until the count is as
// accurate as requested. Users pay for the last precision only. Noise for programs of your own,
// Laplace and others, is in transforms/mechanisms.
//
// Rung k of a ladder of precisions 0 = u₀ < u₁ < … (u = 1/variance) draws y_k = f + N(0, 1/(u_k −
// u_{k−1})); the estimate is the precision-weighted mean est_k = Σ (u_j − u_{j−1})·y_j / u_k. Then
// Cov(est_i, est_j) = min(1/u_i, 1/u_j), the law of f + B(1/u_k) with B a Brownian motion: the
// noise-reduction mechanism of Whitehouse, Ramdas, Rogers and Wu ("Brownian Noise Reduction",
// 2022). Every rung is one more Gaussian release; where to stop and how far to go next are
// functions of earlier releases, so a user who contributed c loses as much as in one Gaussian
// release of the last precision: μ² = c²·u_T.
//
// noise.go draws the noise, from the keyed digits of digits.go, by the exact method of normal.go.
// release.go refines a count along a ladder. threshold.go computes the threshold of private keys
// from their δ per key, which pipeline/deployment (split.go) divides.
//
// # Guarantees
//
// The noise is exactly Gaussian, rounded (Sampler), keyed by everything that names a draw, and the
// same for the same inputs on every machine. All decisions are taken on integers. No release is
// more precise than Spec.Top. For every count f, P(Met and |value − f| > max(r·f, floor)) ≤ 1 −
// confidence, and the printed interval misses f with at most that probability, over all outcomes
// (not conditional on Met, and for private keys not conditional on having passed the threshold).
//
// # No guarantees
//
// The package has no accounts and no users: the caller must have admitted every user in the count
// at precision Top, and must charge Result.Precision. The package remembers nothing: never release
// under one Identity with two keys. The noise is computational: as good as HMAC-SHA-256 under a
// secret of 256 random bits. How many rungs a release took, and so its running time, is public.
package noisereduction
