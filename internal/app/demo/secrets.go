package demo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Secrets are the keys of one run.
type Secrets struct {
	Noise       noisereduction.NoiseKey
	UserHash    secret.Of[[32]byte]
	Incarnation [16]byte // public; part of the input of every noise draw
}

const noiseKeyID = "demo"

// RandomSecrets draws secrets from the system's generator: no two runs share any.
func RandomSecrets() (Secrets, error) {
	var s Secrets
	s.Noise.ID = noiseKeyID
	var noise, users [32]byte
	for _, b := range [][]byte{noise[:], users[:], s.Incarnation[:]} {
		if _, err := rand.Read(b); err != nil {
			return Secrets{}, fmt.Errorf("drawing random keys: %w", err)
		}
	}
	s.Noise.Secret, s.UserHash = secret.New(noise), secret.New(users)
	return s, nil
}

// SeededSecrets derives the secrets of a run on generated events from their seed and the whole
// configuration: nobody needs protection, and the same seed repeats a run exactly.
func SeededSecrets(s Settings, source *Generated) (Secrets, error) {
	from, to := source.Range()
	traits := source.Traits()
	described, err := json.Marshal(struct {
		Settings       Settings
		Format         event.Format
		From, To       int64
		Lateness, Skew int64
		AcceptFuture   bool `json:"NoFuture"` // this name is in every seed
	}{s, traits.Format, from.UnixMilli(), to.UnixMilli(), traits.Lateness.Milliseconds(), traits.Skew.Milliseconds(),
		traits.AcceptFuture})
	if err != nil {
		return Secrets{}, fmt.Errorf("describing the configuration: %w", err)
	}
	root := secret.HMAC([32]byte{}, "tollgate demo seed v1", binary.BigEndian.AppendUint64(nil, source.config.Seed))
	records := sha256.Sum256(fmt.Appendf(nil, "tollgate generated stream v1 %+v", source.config))
	id := secret.HMAC(root, "tollgate demo incarnation v1", described, records[:])
	return Secrets{
		Noise: noisereduction.NoiseKey{ID: noiseKeyID,
			Secret: secret.New(secret.HMAC(root, "tollgate demo noise key v1"))},
		UserHash:    secret.New(secret.HMAC(root, "tollgate demo user-hash key v1")),
		Incarnation: [16]byte(id[:16]),
	}, nil
}
