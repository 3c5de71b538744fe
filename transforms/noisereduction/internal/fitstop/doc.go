// Command fitstop writes the table of fitted stop factors that package
// noisereduction compiles its rules from. It takes some minutes; the
// result is part of the repository, because a table computed at start-up
// in floating point could differ between machines.
package main
