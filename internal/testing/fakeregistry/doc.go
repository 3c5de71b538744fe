// Package fakeregistry is an in-memory schema registry for tests. It implements the part of
// Confluent's API that Tollgate and ordinary consumers use.
//
// A schema has the same id in all subjects, and the error codes are the same as in Confluent's
// registry. The registry does not check schemas, their compatibility, or users.
package fakeregistry
