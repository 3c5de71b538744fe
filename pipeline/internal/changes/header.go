package changes

import (
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Header returns the header of a deployment that begins with a configuration. Init or Succeed fill
// in the incarnation and the start. The registry assigns Counts.SchemaID.
func Header(d *deployment.Deployment) schemas.Header {
	h := schemas.Header{
		Generation:    1,
		UserHash:      schemas.KeyFingerprintOf("user-hash", d.Config.Keys.UserHash.Reveal()),
		Budget:        d.Budget,
		Shards:        uint32(d.Config.Shards),
		ReleaseShards: uint32(d.Config.ReleaseShards),
		LedgerSlots:   uint32(d.Config.LedgerSlots),
		Deployment:    d.Config.Deployment,
		EventsTopic:   d.Config.Events.Topic,
		Events:        d.Events,
		Trust:         d.Config.Time.Trust,
		AcceptFuture:  d.Config.Time.AcceptFuture,
		Zone:          d.Config.Time.WindowZone,
		Topics: schemas.Topics{
			Counts: d.Config.Outputs.Counts, Control: d.Config.Outputs.Control,
			Ledger: d.Config.Outputs.Ledger, DeadLetter: d.Config.Outputs.DeadLetter,
			Turns: d.Config.Outputs.Turns,
		},
		Counts: schemas.CountsEncoding{Format: d.Config.Outputs.CountsFormat},
	}
	noise := d.Config.Keys.Noise
	h.NoiseKeys = []schemas.KeyFingerprint{{
		ID: noise.ID, FromTurn: 1, Fingerprint: schemas.KeyFingerprintOf("noise", noise.Secret.Reveal()),
	}}
	h.Metrics = d.Specs()
	return h
}

// InForce returns the deployment d with the topics and numbers of partitions of generation h.
func InForce(d *deployment.Deployment, h *schemas.Header) *deployment.Deployment {
	old := *d
	old.Config.Outputs.Ledger, old.Config.Outputs.Counts = h.Topics.Ledger, h.Topics.Counts
	old.Config.Shards, old.Config.ReleaseShards = int(h.Shards), int(h.ReleaseShards)
	return &old
}
