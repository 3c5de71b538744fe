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

// generateKeys makes the key files that do not exist, and returns their names.
func (a *App) generateKeys(file *config.File) (all []string, err error) {
	noise, userHash := file.KeyFiles()
	if noise == "" && userHash == "" {
		return nil, Usage(errors.New("--generate-keys creates files, but keys names none: leave the flag out"))
	}
	for _, key := range [...]struct{ field, path string }{{"keys.noise", noise}, {"keys.user_hash", userHash}} {
		if key.path == "" { // from the environment or a command
			continue
		}
		if record, _ := file.RecordPlace(); key.path == userHash && !exists(userHash) {
			if r, err := startrecord.Read(record); err != nil {
				return nil, err
			} else if len(r.Begun) > 0 {
				return nil, Contents(fmt.Errorf("there is no file %s, but %s has %s: put the copy of the key there; "+
					"for a new deployment, name another file", userHash, record, r.Begun[0]))
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

// ButMade ends a sentence that says that nothing was written: the key files that the command made
// before it was refused stay.
func (d *Loaded) ButMade() string {
	if len(d.made) == 0 {
		return ""
	}
	return " but " + strings.Join(d.made, " and ")
}

// WriteBackups lists the secrets without which a deployment cannot continue, and where they are.
func WriteBackups(b *strings.Builder, file *config.File) {
	noise, userHash := file.KeyFiles()
	noiseVariable, userHashVariable := file.KeyVariables()
	noiseProgram, userHashProgram := file.KeyPrograms()
	type secret struct{ is, path, variable, program string }
	all := []secret{{"noise key", noise, noiseVariable, noiseProgram},
		{"user-hash key", userHash, userHashVariable, userHashProgram}}
	if record, _ := file.RecordPlace(); record != "" && exists(record) {
		all = append(all, secret{is: "which deployments have begun", path: record})
	}
	b.WriteString("\nback up, where it is as safe as the data itself, and not beside the topics:\n")
	for _, one := range all {
		where := "the value of the environment variable " + one.variable
		if one.program != "" {
			where = "the key that " + one.program + " prints"
		}
		if one.path != "" {
			where = one.path
			if whole, err := filepath.Abs(one.path); err == nil {
				where = whole
			}
		}
		fmt.Fprintf(b, "  %-28s  %s\n", one.is, where)
	}
	b.WriteString("without the user-hash key no run ever starts again; without the noise key an interrupted turn " +
		"cannot be finished\n")
}
