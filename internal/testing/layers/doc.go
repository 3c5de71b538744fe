// Package layers holds tests of imports: that packages import in one direction, for which it lists
// the layers of the module from the bottom up with every package that ships on a line of its own;
// that nothing which ships imports what is made for tests; and that every file has its imports in
// one order, the standard library's, those of other modules, our own.
//
// It has no code of its own. Files of tests may import whatever they need.
package layers
