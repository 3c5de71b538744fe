// Package keyrecord has the files that record, beside a key, what was done with it: a JSON object
// on each line.
//
// Guarantees: lines are only appended, so that their order decides between processes; an append has
// returned only once the line and the file's name are on the disk, where the file system can do
// that; all names of a key lead to one record, as long as symbolic links make them.
//
// Not guaranteed: anything about a record that was edited, deleted or left behind when the key was
// copied.
package keyrecord
