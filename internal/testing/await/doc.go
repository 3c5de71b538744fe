// Package await lets tests wait for a condition instead of a fixed time.
package await
