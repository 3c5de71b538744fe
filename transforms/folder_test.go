package transforms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// folder is a directory in which the hooks of a pipeline find what the others
// have written: only its name travels with them.
type folder struct{ Dir string }

// put writes a file, whole or not at all. A name stands for one content: another
// one is an error.
func (f folder) put(name string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	path := filepath.Join(f.Dir, name)
	switch there, err := os.ReadFile(path); {
	case err == nil && string(there) != string(data):
		return fmt.Errorf("writing %s: it is there with another content", name)
	case err == nil:
		return nil
	}
	if err := os.WriteFile(path+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// get reads a file; fs.ErrNotExist where there is none.
func (f folder) get(name string, content any) error {
	data, err := os.ReadFile(filepath.Join(f.Dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, content)
}

func settledName(turn uint64) string { return fmt.Sprintf("settled-%d", turn) }

// WriteSettlement implements release.SettlementWriter.
func (f folder) WriteSettlement(_ context.Context, s schemas.Settled) error {
	return f.put(settledName(s.Turn), s)
}

// Settlement implements spend.Settlements.
func (f folder) Settlement(_ context.Context, turn uint64) (*spend.Settlement, error) {
	var s schemas.Settled
	if err := f.get(settledName(turn), &s); err != nil {
		return nil, fmt.Errorf("looking for settled turn %d: %w", turn, err)
	}
	return spend.NewSettlement(s), nil
}

// settled reports whether a turn is settled: the Source asks before it opens the
// next one.
func (f folder) settled(turn uint64) (bool, error) {
	switch _, err := os.Stat(filepath.Join(f.Dir, settledName(turn))); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, err
	}
}
