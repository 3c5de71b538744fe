// Package chance has the number of draws and the check of rates of statistical tests.
package chance
