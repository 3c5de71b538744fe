// Package published reads the values that a deployment has published, turn by turn or all at once.
// It does not need keys or accounts, or a running deployment. Package pipeline has the same calls
// under the names FollowReleases and ReadReleases.
package published
