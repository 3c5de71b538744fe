// Package published reads the values that a deployment has published, turn by turn or all at once.
// It needs no key and no account, and works while the deployment runs and without it. Package
// serve is one of its users. Package pipeline has the same calls under the names FollowReleases and
// ReadReleases.
package published
