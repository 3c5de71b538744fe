// Package layers holds tests of what may import what: the layers of the module, from the bottom
// up, with every package that ships on a line of its own.
//
// It has no code of its own. Files of tests may import whatever they need; that nothing which
// ships imports what is made for tests is checked, too.
package layers
