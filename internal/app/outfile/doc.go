// Package outfile writes the output files of commands, whole or not at all. Commit puts the new
// file under its path; a crash before that leaves the old one. A path that is not a regular file,
// such as /dev/stdout or a pipe, is written directly.
//
// A File is not for concurrent use.
package outfile
