// Package outfile writes the files that a command makes: whole or not at all.
// What is written appears under its path when it is committed, and replaces what was
// there; a crash before that leaves the old file. Paths that are not ordinary files, such
// as /dev/stdout or a pipe, are written directly.
//
// A File belongs to one goroutine at a time.
package outfile
