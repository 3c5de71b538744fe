package plain

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/schemas"
)

func init() {
	beam.RegisterDoFn(&identifyFn{})
	register.Emitter2[[]byte, []byte]()
	register.Emitter2[string, string]()
}

// identifyFn replaces the user with an account id, and the event with a slice of one event. Invalid
// events go to the second output.
type identifyFn struct {
	part

	span   span
	hasher *schemas.Hasher
}

// Setup opens the secrets.
func (f *identifyFn) Setup(ctx context.Context) error {
	secrets, err := f.open(ctx)
	if err != nil {
		return err
	}
	f.span, f.hasher = f.Settings.span(), schemas.NewHasher(secrets.UserHash.Reveal())
	return nil
}

// ProcessElement converts or rejects one event.
func (f *identifyFn) ProcessElement(_ context.Context, eventTime beam.EventTime, user, key string,
	emit func([]byte, []byte), reject func(string, string)) error {
	end, inside := f.span.end(eventTime.Milliseconds())
	if !inside || schemas.ValidateUser([]byte(user)) != nil || schemas.ValidateKey([]byte(key)) != nil {
		reject(user, key)
		return nil
	}
	id := f.hasher.Account([]byte(user))
	single := slice{end: end, keys: []keyCount{{key, 1}}}
	emit(id[:], single.append(nil))
	return nil
}

func (t *Transforms) identify(s beam.Scope, events beam.PCollection) (identified, rejected beam.PCollection) {
	return beam.ParDo2(s, &identifyFn{part: t.part()}, inGlobal(s, events))
}
