// Package year has the experiment that says why this product exists: a year of daily counts, under
// one promise to every user for the whole year.
//
// Without accounts the promise has to be divided among the windows beforehand, as if every user
// came every day. With an account for every user it is spent by those who come, and with noise
// reduction no more of it than a count needs to be as exact as was asked.
//
// Guarantees: the deployments with accounts are forecast by internal/app/plan/forecast, which is
// compared with what the product releases. What is divided beforehand is computed;
// internal/testing/peers has the same windows counted by Privacy on Beam (go run . year).
//
// Not guaranteed: that your users are like these.
package year
