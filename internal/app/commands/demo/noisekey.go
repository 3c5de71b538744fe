package demo

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// ReadNoiseKey reads the file of --noise-key-file. Its errors show nothing of the file.
func ReadNoiseKey(path string) (noisereduction.NoiseKey, error) {
	text, err := config.ReadSmall(path, 4096)
	if errors.Is(err, config.ErrTooLong) {
		return noisereduction.NoiseKey{}, command.Contents(fmt.Errorf("reading --noise-key-file: %w; make a key with: "+
			"openssl rand -hex 32", err))
	}
	if err != nil {
		return noisereduction.NoiseKey{}, fmt.Errorf("reading --noise-key-file: %w", err)
	}
	key, err := keyfile.ParseNoiseKey(text)
	if err != nil {
		return noisereduction.NoiseKey{}, command.Contents(fmt.Errorf("reading --noise-key-file %s: %w; make a key "+
			"with: openssl rand -hex 32", path, err))
	}
	return key, nil
}
