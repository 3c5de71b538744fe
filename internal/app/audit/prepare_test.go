package audit

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func TestAWrongNoiseKeyIsNamed(t *testing.T) {
	t.Parallel()
	key := schemas.KeyFingerprint{ID: "k1", Fingerprint: schemas.KeyFingerprintOf("noise", [32]byte{1})}
	for want, noise := range map[string]noisereduction.NoiseKey{
		`secret given for the noise key "k1" is likely wrong`: {ID: "k1", Secret: secret.New([32]byte{2})},
		`set keys.noise.id to "k1"`:                           {ID: "k2", Secret: secret.New([32]byte{1})},
		`"k1" is in no given`:                                 {ID: "k2", Secret: secret.New([32]byte{2})},
	} {
		given := &deployment.Deployment{Config: deployment.Config{Keys: deployment.SecretKeys{Noise: noise}}}
		if got := explainMissingKey(key, []*deployment.Deployment{given}); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
