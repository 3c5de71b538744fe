// Package opaque makes encoding/json refuse a value that it would write as {}: a state of
// accounting has no exported fields, and one that is stored as {} comes back with
// nothing spent.
package opaque
