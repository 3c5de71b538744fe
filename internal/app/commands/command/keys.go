package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/internal/app/startrecord"
)

// generateKeys creates the key files that do not exist, and returns their paths.
func (a *App) generateKeys(file *config.File) (all []string, err error) {
	noise, userHash := file.KeyFiles()
	if noise == "" && userHash == "" {
		return nil, Usage(errors.New("--generate-keys creates key files, but the configuration names none under " +
			"keys: leave out the flag"))
	}
	for _, key := range [...]struct{ field, path string }{{"keys.noise", noise}, {"keys.user_hash", userHash}} {
		if key.path == "" { // from the environment or a command
			continue
		}
		if record, _ := file.RecordPlace(); key.path == userHash && !exists(userHash) {
			if r, err := startrecord.Read(record); err != nil {
				return nil, err
			} else if len(r.Begun) > 0 {
				return nil, Contents(fmt.Errorf("there is no file %s, but %s records %s: restore your backup of the "+
					"key there; for a new deployment, name another file", userHash, record, r.Begun[0]))
			}
		}
		made, err := keyfile.Make(key.path)
		if err != nil {
			return nil, fmt.Errorf("making the key file of %s: %w", key.field, err)
		}
		if made {
			all = append(all, key.path)
			fmt.Fprintf(a.Stderr, "made %s\n", key.path)
		} else {
			fmt.Fprintf(a.Stderr, "%s exists and is used as it is\n", key.path)
		}
	}
	return all, nil
}

// ExceptMade returns the end of a sentence that says that nothing was written, if the command has
// created key files: they stay.
func (d *Loaded) ExceptMade() string {
	if len(d.made) == 0 {
		return ""
	}
	return " but " + strings.Join(d.made, " and ")
}

// A Backup is a secret without which a deployment cannot continue.
type Backup struct{ Label, Place string }

// Backups returns the secrets of a deployment.
func Backups(file *config.File) []Backup {
	all := []Backup{{"noise key", file.KeyPlace("keys.noise")}, {"user-hash key", file.KeyPlace("keys.user_hash")}}
	if record, _ := file.RecordPlace(); record != "" && exists(record) {
		all = append(all, Backup{"which deployments have begun", record})
	}
	for i, one := range all {
		if abs, err := filepath.Abs(one.Place); err == nil && exists(abs) {
			all[i].Place = abs
		}
	}
	return all
}
