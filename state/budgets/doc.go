// Package budgets turns a promise (ε, δ) into the greatest amount of privacy loss that keeps it,
// and back. A deployment checks its accounts against a Budget.
//
// The accountants here can keep a deployment's budget; package compose lists all accountants.
//
// # Guarantees
//
//   - A Budget is the greatest integer B² whose δ, computed with a proven error bound and rounded
//     upward, does not exceed the requested δ.
//   - A conversion rounds so that it never states more privacy than there is.
//   - No exported function returns NaN.
//
// All functions are safe for concurrent use; a Budget is a value.
package budgets
