// Package budgets converts a promise (ε, δ) into the greatest amount of privacy loss that keeps the
// promise, and converts back. A deployment checks its accounts against a Budget.
//
// The accountants in this package can keep a deployment's budget; package compose lists all.
//
// # Guarantees
//
//   - A Budget has the greatest integer B² whose δ, computed with a proven error bound and rounded
//     up, does not exceed the requested δ.
//   - A conversion is rounded such that it never overstates privacy.
//   - No exported function returns NaN.
//
// All functions are safe for concurrent use.
package budgets
