// Package year has the experiment that says why this product exists: a year of daily counts, under
// one promise to every user for the whole year.
//
// Without accounts the promise has to be divided among the windows beforehand, as if every user
// came every day. With an account for every user it is spent by those who come. An allowance
// spreads it over the year, and noise reduction spends no more of it than a count needs to be as
// exact as was asked.
//
// Guarantees: deployments with accounts admit and charge by the code of transforms/spend and
// state/accounts, with noise by that of transforms/noisereduction. What is divided beforehand is
// computed; docs/year.py comes to the same means with code of its own.
//
// Not guaranteed: that your users are like these.
package year
