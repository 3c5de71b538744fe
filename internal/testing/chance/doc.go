// Package chance helps statistical tests: it sets how many draws they take,
// and how far a rate may be from its probability.
package chance
