// Package advice says which window, bounds, target and lifetime fit the events of a sample. It
// searches all of them together by forecasts, for the least error that people mean, for the most
// keys or for the longest life, and says what would help where that is not enough.
//
// # Guarantees
//
// The same question gives the same answer. The settings that are recommended are round numbers;
// their texts name no key and no number of the data. Each of them was forecast over the whole
// sample, with noise that the search has not seen. The best one was forecast once more, with fresh
// noise and over more paths.
//
// # No guarantees
//
// Everything but those settings is raw data: it is for the trusted side. Settings that are chosen
// by looking at raw data are not protected by the promise of a deployment. The search goes from
// setting to neighbouring setting: it may miss the best.
package advice
