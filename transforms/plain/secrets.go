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

// Secrets are two secrets of 256 random bits, which must never change. Anyone who knows Noise can
// subtract the noise from every release.
type Secrets struct {
	UserHash secret.Of[[32]byte] // for account ids, and for the order in which keys are clipped
	Noise    noisereduction.NoiseKey
}

// Environment is a hook that reads Secrets from a worker's environment variables, in hexadecimal.
type Environment struct {
	UserHash, Noise string // names of the variables
	NoiseID         string // public name of the noise key
}

// Open implements hook.Hook.
func (e Environment) Open(context.Context) (Secrets, error) {
	s := Secrets{Noise: noisereduction.NoiseKey{ID: e.NoiseID}}
	for name, to := range map[string]*secret.Of[[32]byte]{e.UserHash: &s.UserHash, e.Noise: &s.Noise.Secret} {
		b, err := hex.DecodeString(os.Getenv(name))
		if err != nil || len(b) != 32 {
			// The decoder's error would quote the secret.
			return Secrets{}, invalid("environment variable %s must contain 64 hexadecimal digits", name)
		}
		*to = secret.New([32]byte(b))
	}
	return s, s.check()
}

func (s *Secrets) check() error {
	users, noise := s.UserHash.Reveal(), s.Noise.Secret.Reveal()
	switch {
	case users == [32]byte{} || noise == [32]byte{}:
		return invalid("a secret is all zeros: draw 32 random bytes")
	case users == noise:
		return invalid("the secrets for users and for noise are the same: draw two different ones")
	}
	return nil
}
