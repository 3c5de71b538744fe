// Package year implements the experiment that shows why Tollgate exists: a year of daily counts,
// under one promise to every user for the whole year.
//
// Without accounts, the promise must be divided among the windows in advance, as if every user came
// every day. With an account for each user, a user pays only for the days of a visit. An allowance
// spreads an account over the year. Noise reduction spends only as much as the requested accuracy
// of a count requires.
//
// Guarantees: simulated deployments admit, charge and draw noise with the code of transforms/spend,
// state/accounts and transforms/noisereduction. The errors of the divided promise are computed;
// docs/year.py computes the same means independently.
//
// Not guaranteed: that your users resemble the simulated ones.
package year
