// Package published reads what a deployment has published, turn by turn or all at once. It needs
// no key and no account, and runs beside the deployment or without it: package serve is one of its
// users. Package pipeline has the same calls under the names FollowReleases and ReadReleases.
package published
