// Package outfile writes the files that a command makes: whole or not at all. A file appears under
// its path on Commit, and replaces the old one; a crash before that leaves the old file. Paths that
// are not ordinary files, such as /dev/stdout or a pipe, are written directly.
//
// A File belongs to one goroutine at a time.
package outfile
