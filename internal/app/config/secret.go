package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// key reads a key of 256 bits from the file, variable or command that a field names. If Options
// permits it, key returns a stand-in instead.
func (f *File) key(path string, o Options, standIn byte) (key [32]byte) {
	if o.WithoutKeys {
		return [32]byte{standIn}
	}
	doc, file, text := f.document, f.document.text(path+".file"), ""
	if variable := doc.text(path + ".env"); variable != "" {
		path += ".env"
		switch text = doc.environment.get(variable); {
		case text == "" && o.MissingKeys:
			f.Missing = append(f.Missing, "$"+variable)
			return [32]byte{standIn}
		case text == "":
			doc.failAt(path, "the environment variable %s is unset or empty; give it a key with: export "+
				"%s=$(openssl rand -hex 32), and keep that key", variable, variable)
			return key
		}
	} else if command := doc.apart[path+".command"]; len(command) > 0 {
		path += ".command"
		ctx, cancel := context.WithTimeout(context.Background(), keyfile.CommandTime)
		defer cancel()
		var err error
		switch text, err = keyfile.FromCommand(ctx, doc.dir, command); {
		case err != nil && o.MissingKeys:
			f.Failed = append(f.Failed, fmt.Sprintf("%s: %v", command[0], doc.secrets.hide(err.Error())))
			return [32]byte{standIn}
		case err != nil:
			doc.failAt(path, "running %s: %v", command[0], err)
			return key
		}
	} else {
		path += ".file"
		var err error
		text, err = ReadSmall(file, 4096)
		f.warnIfExposed(path, file)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && o.MissingKeys:
			f.Missing = append(f.Missing, file)
			return [32]byte{standIn}
		case missing:
			doc.failAt(path, "%s", missingKeyText(path, file))
			return key
		case err != nil:
			doc.failAt(path, "reading %s: %v", file, cause(err))
			return key
		}
	}
	key, err := keyfile.ParseSecret(text)
	if err != nil {
		doc.failAt(path, "%v, and nothing else; make one with: openssl rand -hex 32", err)
	}
	return key
}

// password stores a password in *to if a field names its source; connect/sasl.go rereads the file.
func (f *File) password(path string, to *secret.Of[string], file string) {
	doc := f.document
	if variable := doc.text(path + ".password_env"); variable != "" {
		text := secret.Line(doc.environment.get(variable))
		if *to = secret.New(text); text == "" {
			doc.failAt(path+".password_env", "the environment variable %s is unset or empty: set it for this "+
				"command (export %s=…), or name a file with password_file", variable, variable)
		}
		return
	}
	if file == "" {
		return
	}
	path += ".password_file"
	text, err := ReadSmall(file, 1<<16)
	f.warnIfExposed(path, file)
	if err != nil {
		doc.failAt(path, "reading %s: %v; write the password into that file, or correct its name", file, cause(err))
		return
	}
	if *to = secret.New(secret.Line(text)); to.Reveal() == "" {
		doc.failAt(path, "the file %s is empty: write the password into it", file)
	}
}

// missingKeyText describes a missing key file and the remedy. Only a noise key can be replaced.
func missingKeyText(path, file string) string {
	text := fmt.Sprintf("there is no file %s: make it with tollgate init --generate-keys, or with %s. If the "+
		"deployment has already begun, restore its key there from the backup", file, MakeKey(file))
	if path == "keys.noise.file" {
		text += ", or make a new noise key with tollgate change --generate-keys"
	}
	return text
}

// MakeKey returns a shell command that makes a key file that only its owner can read.
func MakeKey(file string) string {
	command := fmt.Sprintf("(umask 077; openssl rand -hex 32 > %s)", file)
	if dir := filepath.Dir(file); !exists(dir) {
		command = fmt.Sprintf("(umask 077; mkdir -p %s; openssl rand -hex 32 > %s)", dir, file)
	}
	return command
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// warnIfExposed records a warning if other users can read or change a file with a secret.
func (f *File) warnIfExposed(path, file string) {
	if reason := Exposed(file); reason != "" {
		doc := f.document
		f.exposed = append(f.exposed, doc.newError(doc.place(path).value, path, reason))
	}
}

// Exposed returns a warning, with the remedy, if other users can read or change a file with a
// secret. It returns "" if only the owner can, or if the operating system does not show it.
func Exposed(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	others := "other users of this machine"
	if info.Mode().Perm()&0o007 == 0 {
		others = "its group"
	}
	return fmt.Sprintf("%s is open to %s (mode %04o): run chmod 600 %s, and replace the secret if others may have "+
		"read it", file, others, info.Mode().Perm(), file)
}
