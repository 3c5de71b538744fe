// Package await lets tests wait for a condition, not for a time.
package await
