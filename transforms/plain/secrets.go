package plain

import (
	"context"
	"encoding/hex"
	"os"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func init() {
	beam.RegisterType(reflect.TypeFor[Environment]())
}

// Secrets are 256 random bits each, which never change: with UserHash account ids and clipping are
// made, with Noise the noise. Who has Noise can take the noise off every release.
type Secrets struct {
	UserHash secret.Of[[32]byte]
	Noise    noisereduction.NoiseKey
}

// Environment is a hook that reads Secrets from environment variables of the
// worker, given by name: 64 hexadecimal digits each.
type Environment struct {
	UserHash, Noise string
	NoiseID         string // the public name of the noise key
}

// Open implements hook.Hook.
func (e Environment) Open(context.Context) (Secrets, error) {
	s := Secrets{Noise: noisereduction.NoiseKey{ID: e.NoiseID}}
	for name, to := range map[string]*secret.Of[[32]byte]{e.UserHash: &s.UserHash, e.Noise: &s.Noise.Secret} {
		b, err := hex.DecodeString(os.Getenv(name))
		if err != nil || len(b) != 32 {
			// The decoder's error would quote the secret.
			return Secrets{}, invalid("environment variable %s: must be 64 hexadecimal digits", name)
		}
		*to = secret.New([32]byte(b))
	}
	return s, s.check()
}

func (s *Secrets) check() error {
	users, noise := s.UserHash.Reveal(), s.Noise.Secret.Reveal()
	switch {
	case users == [32]byte{} || noise == [32]byte{}:
		return invalid("a secret of zeros only: draw 32 random bytes")
	case users == noise:
		return invalid("the same secret for users and for noise: draw two")
	}
	return nil
}
