// Package outfile writes the output files of commands completely or not at all. Commit puts the new
// file under its path; a crash before Commit leaves the old file. A path that is not a regular
// file, such as /dev/stdout or a pipe, is written directly.
//
// A File must not be used concurrently.
package outfile
