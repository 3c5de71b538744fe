// Package fakeregistry is a schema registry for tests, in memory. It has the part of Confluent's
// API that Tollgate and ordinary consumers use.
//
// Guarantees: a schema has one id in all subjects, and the error codes are those of Confluent's
// registry. Not guaranteed: it checks neither schemas nor their compatibility, nor users.
package fakeregistry
