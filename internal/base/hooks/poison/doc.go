// Package poison overwrites memory that its owner will reuse. A test then fails if other code still
// reads the old contents. Builds with the race detector or with -tags poison do this; in all other
// builds the functions do nothing.
package poison
