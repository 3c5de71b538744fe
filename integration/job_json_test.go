package integration

import (
	"encoding/json"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// jobKeys are the keys of a job: a configuration prints them redacted.
type jobKeys struct {
	Noise    jobKey
	UserHash [32]byte
}

type jobKey struct {
	ID     string
	Secret [32]byte
}

// encode writes a job with its keys beside the configuration.
func (j job) encode() ([]byte, error) {
	noise := j.Config.Keys.Noise
	keys := jobKeys{UserHash: j.Config.Keys.UserHash.Reveal(), Noise: jobKey{noise.ID, noise.Secret.Reveal()}}
	config, err := json.Marshal(j.Config)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	delete(fields, "Keys")
	type plain job
	return json.Marshal(struct {
		plain
		Config map[string]json.RawMessage
		Keys   jobKeys
	}{plain(j), fields, keys})
}

// UnmarshalJSON reads what encode has written.
func (j *job) UnmarshalJSON(text []byte) error {
	type plain job
	read := struct {
		*plain
		Keys jobKeys
	}{plain: (*plain)(j)}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	j.Config.Keys.UserHash = secret.New(read.Keys.UserHash)
	noise := read.Keys.Noise
	j.Config.Keys.Noise = noisereduction.NoiseKey{ID: noise.ID, Secret: secret.New(noise.Secret)}
	return nil
}
