// Package published reads the values that a deployment has published, turn by turn or all at once.
// It needs neither keys nor accounts nor a running deployment. Package pipeline offers the same
// functions as FollowReleases and ReadReleases.
package published
