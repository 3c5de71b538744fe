// Package deploytest has a valid configuration, an embedded broker, certificates, and a logger to a
// buffer, for tests of deployments.
//
// Not guaranteed: privacy, because its keys are constants.
package deploytest
