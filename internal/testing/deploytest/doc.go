// Package deploytest provides a valid configuration, an embedded broker, certificates, and a logger
// that writes to a buffer, for tests of deployments.
//
// The configuration protects no privacy, because its keys are constants.
package deploytest
