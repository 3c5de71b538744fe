// Package mutants makes builds of the module in which one rule at a time is left out, so that a
// test can show that another test notices.
//
// A mutant names a function and a change inside it. The function is looked for in all files of the
// module that ship, and the change is found in its syntax, without regard to white space and
// comments: code may move to another file or package, or be formatted otherwise, and the mutant
// moves with it. A function or an expression in it that is not there, or is there twice, is an
// error.
//
// All mutants are in one build; the environment variable Variable switches one on. Files are not
// edited: `go build -overlay` puts edited copies in their place.
package mutants
