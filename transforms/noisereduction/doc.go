// Package noisereduction draws all noise of a Tollgate deployment. It releases counts by Brownian
// noise reduction: first with much noise, then with less and less, until the count is as accurate
// as requested. Users pay only for the last precision. For noise in your own programs, from Laplace
// and other distributions, see transforms/mechanisms.
//
// Rung k of a ladder of precisions 0 = u₀ < u₁ < … (u = 1/variance) draws y_k = f + N(0, 1/(u_k −
// u_{k−1})). The estimate is the precision-weighted mean est_k = Σ (u_j − u_{j−1})·y_j / u_k. Then
// Cov(est_i, est_j) = min(1/u_i, 1/u_j), as for f + B(1/u_k) with a Brownian motion B: this is the
// noise-reduction mechanism of Whitehouse, Ramdas, Rogers and Wu ("Brownian Noise Reduction",
// 2022). Every rung is one more Gaussian release. Where to stop and how far to go next depend only
// on earlier releases. A user who contributed c therefore pays as much as for one Gaussian release
// at the last precision: μ² = c²·u_T.
//
// noise.go draws the noise by the exact method of normal.go, from the keyed digits of digits.go.
// climb.go refines a count along a ladder. key_threshold.go computes the threshold of private keys
// from the δ per key, which pipeline/deployment computes.
//
// # Guarantees
//
// The noise is exactly Gaussian, rounded (see Sampler), keyed by everything that identifies a draw,
// and the same for the same inputs on every machine. All decisions are made on integers. No release
// is more precise than Spec.Top. For every count f, P(Met and |value − f| > max(r·f, floor)) ≤ 1 −
// confidence, and the printed interval misses f with at most that probability, over all outcomes
// (not conditional on Met, and for private keys not conditional on having passed the threshold).
//
// # No guarantees
//
// The package has no accounts and no users. The caller must have admitted every user in the count
// at precision Top, and must charge Result.Precision. The package keeps no state: never release
// under one Identity with two keys. The noise is as random as HMAC-SHA-256 with a secret key of 256
// random bits. The number of rungs of a release, and therefore its running time, is public.
package noisereduction
