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

// WriteBackupList lists the secrets without which a deployment cannot continue, and where they are.
func WriteBackupList(b *strings.Builder, file *config.File) {
	noise, userHash := file.KeyFiles()
	noiseVariable, userHashVariable := file.KeyVariables()
	noiseProgram, userHashProgram := file.KeyPrograms()
	type secret struct{ label, path, variable, program string }
	all := []secret{{"noise key", noise, noiseVariable, noiseProgram},
		{"user-hash key", userHash, userHashVariable, userHashProgram}}
	if record, _ := file.RecordPlace(); record != "" && exists(record) {
		all = append(all, secret{label: "which deployments have begun", path: record})
	}
	b.WriteString("\nback these up somewhere as safe as the data itself, and not alongside the topics:\n")
	for _, one := range all {
		where := "the value of the environment variable " + one.variable
		if one.program != "" {
			where = "the key that " + one.program + " prints"
		}
		if one.path != "" {
			where = one.path
			if abs, err := filepath.Abs(one.path); err == nil {
				where = abs
			}
		}
		fmt.Fprintf(b, "  %-28s  %s\n", one.label, where)
	}
	b.WriteString("without the user-hash key no run ever starts again; without the noise key an interrupted turn " +
		"cannot be finished\n")
}
