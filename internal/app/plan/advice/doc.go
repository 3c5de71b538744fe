// Package advice says which window, bounds and lifetime fit the events of a sample: it forecasts a
// grid of settings, and recommends three.
//
// # Guarantees
//
// The same question gives the same answer. The settings that are recommended are round numbers;
// their texts name no key and no number of the data.
//
// # No guarantees
//
// Everything but those settings is raw data: it is for the trusted side. Settings that are chosen
// by looking at raw data are not protected by the promise of a deployment; package protected has a
// choice that is.
package advice
