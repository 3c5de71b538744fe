// Package fakeregistry is a schema registry for tests: Confluent's API as far as this program and
// ordinary consumers use it, in the process, without a disk.
//
// Guarantees: a schema has one id, under whichever subjects it is registered; what a subject does
// not have is told with the registry's own error codes. Not guaranteed: it checks neither schemas
// nor their compatibility, and never authenticates.
package fakeregistry
