package demo

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Secrets are the keys of one run.
type Secrets struct {
	Noise       noisereduction.NoiseKey
	UserHash    secret.Of[[32]byte]
	Incarnation [16]byte // public; part of the identity of every release's noise
}

const noiseKeyID = "demo"

// RandomSecrets draws everything from the system's generator: no two runs have
// anything in common.
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

// RunID names a run of a file under a noise key: by a nonce that the run draws, and by a digest of
// its settings and records. An operator who has the key can repeat that run with it, but no other.
type RunID [16]byte

const nonceBytes = 8

// NewRunID draws the nonce of a run.
func NewRunID() (id RunID, err error) {
	if _, err := rand.Read(id[:nonceBytes]); err != nil {
		return id, fmt.Errorf("drawing the name of a run: %w", err)
	}
	return id, nil
}

// ParseRunID reads a name as String writes it.
func ParseRunID(text string) (id RunID, err error) {
	n, err := hex.Decode(id[:], []byte(text[:min(len(text), hex.EncodedLen(len(id)))]))
	if err != nil || n < len(id) || id.String() != text || id == (RunID{}) {
		return RunID{}, errors.New("it must be the 32 hex digits that the run showed on stderr")
	}
	return id, nil
}

func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// Key returns the noise key that only this run has. Two runs never share noise, even on the same
// file: if they did, equal values in two outputs would show whose data have not changed.
func (id RunID) Key(key noisereduction.NoiseKey) noisereduction.NoiseKey {
	return noisereduction.NoiseKey{ID: key.ID, Secret: secret.New(secret.Keyed(key.Secret.Reveal(),
		"tollgate demo run v1", id[:nonceBytes]))}
}

// Of returns the name of the run with this nonce and the secrets that Derive made from its Key.
func (id RunID) Of(s Secrets) RunID {
	copy(id[nonceBytes:], s.Incarnation[:])
	return id
}

// Derive makes the secrets of a run a function of the key, of everything that
// is configured and of the records. Noise depends on the incarnation: the same
// data in any order gives the same releases, and no two inputs or
// configurations ever share noise. The key itself is used for derivation only.
// For a file, pass RunID.Key; for made-up events, the noise key or SeedKey.
func Derive(key noisereduction.NoiseKey, s Settings, source Source, records [32]byte) (Secrets, error) {
	from, to := source.Range()
	traits := source.Traits()
	described, err := json.Marshal(struct {
		Settings       Settings
		Format         event.Format
		From, To       int64
		Lateness, Skew int64
		NoFuture       bool
	}{s, traits.Format, from.UnixMilli(), to.UnixMilli(), traits.Lateness.Milliseconds(), traits.Skew.Milliseconds(),
		traits.NoFuture})
	if err != nil {
		return Secrets{}, fmt.Errorf("describing the configuration: %w", err)
	}
	root := key.Secret.Reveal()
	out := Secrets{Noise: noisereduction.NoiseKey{ID: key.ID,
		Secret: secret.New(secret.Keyed(root, "tollgate demo noise key v1"))}}
	out.UserHash = secret.New(secret.Keyed(root, "tollgate demo user-hash key v1"))
	id := secret.Keyed(root, "tollgate demo incarnation v1", described, records[:])
	copy(out.Incarnation[:], id[:])
	return out, nil
}

// NewMultiset returns a digest of no records under a noise key, for Derive.
func NewMultiset(key [32]byte) *eventfile.Multiset {
	return eventfile.NewMultiset(secret.Keyed(key, "tollgate demo multiset key v1"))
}

// SeedKey returns the noise key of made-up events. It is not a secret: a seed repeats a run
// to the last byte.
func SeedKey(seed uint64) noisereduction.NoiseKey {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seed)
	return noisereduction.NoiseKey{ID: noiseKeyID, Secret: secret.New(secret.Keyed([32]byte{}, "tollgate demo seed v1",
		b[:]))}
}
