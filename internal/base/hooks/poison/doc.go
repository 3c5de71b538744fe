// Package poison overwrites memory that its owner will reuse, so that a test fails if other code
// still reads the old contents. It does so in builds with the race detector or with -tags poison;
// in all other builds its functions do nothing.
package poison
