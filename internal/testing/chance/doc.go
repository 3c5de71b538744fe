// Package chance holds what tests of random laws share: how many draws they take,
// and how far a rate may be from its probability.
package chance
