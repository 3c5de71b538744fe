// Package deploytest has what tests of deployments share: a configuration that compiles, an
// embedded broker, certificates, a logger into a buffer.
//
// Not guaranteed: privacy. Its keys are constants.
package deploytest
