// Package layers holds tests that packages import in one direction: it lists the layers of the
// module from the bottom up with every package, and what each layer may import.
//
// It has no code of its own. Files of tests may import whatever they need.
package layers
