// Package forecast says what a deployment would give on what users did: which share of their events
// counts, which counts come out, how wrong they are, and when users cannot pay any more.
//
// A forecast goes along the windows as a run does, with the deployment's own budget, ladder and
// threshold: clipping, admission and charging are those of package
// transforms/spend, noise is that of [noisereduction.Plan.Imitate], and a value of several
// components that of [metrickind.Vector]. Where users were sampled, noise
// belongs to the scaled count; accounts are those of the users in the sample.
//
// # Guarantees
//
// The same windows, deployment and options give the same forecast. Memory is proportional to the
// number of users and keys.
//
// # No guarantees
//
// A forecast is made of raw data and protects nothing: it is for the trusted side. It knows nothing
// of late or broken records, of filters, or of other metrics of the deployment. Keys that only
// users outside the sample have are missing.
package forecast
