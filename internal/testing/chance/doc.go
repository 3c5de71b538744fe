// Package chance determines the number of draws for statistical tests, and checks rates.
package chance
