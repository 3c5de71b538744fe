package config

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/keyfile"
)

// key reads 256 bits from the file or the variable that a field names. Where the file is
// missing and Options.MissingKeys accepts that, the key is a stand-in.
func (f *File) key(at string, s source, o Options, standIn byte) (key [32]byte) {
	doc := f.document
	text, where := "", doc.valuePosition(at+".file")
	if s.env != "" {
		where = doc.valuePosition(at + ".env")
		if text = o.Getenv(s.env); text == "" {
			if o.MissingKeys {
				f.Missing = append(f.Missing, "$"+s.env)
				return [32]byte{standIn}
			}
			doc.fail(where, at, "the environment variable %s is not set or empty; make a key with: openssl rand -hex 32", s.env)
			return key
		}
	} else {
		var err error
		text, err = ReadSmall(s.file, 4096)
		switch {
		case errors.Is(err, fs.ErrNotExist) && o.MissingKeys:
			f.Missing = append(f.Missing, s.file)
			return [32]byte{standIn}
		case errors.Is(err, fs.ErrNotExist):
			doc.fail(where, at, "there is no such file; make one with: runner init --generate-keys, or openssl rand -hex 32")
			return key
		case err != nil:
			doc.fail(where, at, "%v", cause(err))
			return key
		}
	}
	key, err := keyfile.ParseSecret(text)
	if err != nil {
		doc.fail(where, at, "%v; make one with: openssl rand -hex 32", err)
	}
	return key
}

// password reads a password from the file or the variable that a field names, if it names
// one.
func (f *File) password(at string, to *string, s source, o Options) {
	switch {
	case s.env != "":
		if *to = o.Getenv(s.env); *to == "" {
			f.document.fail(f.document.valuePosition(at+".password_env"), at, "the environment variable %s is not set or empty", s.env)
		}
	case s.file != "":
		text, err := ReadSmall(s.file, 1<<16)
		if err != nil {
			f.document.fail(f.document.valuePosition(at+".password_file"), at, "%v", cause(err))
			return
		}
		if *to = strings.TrimRight(text, "\r\n"); *to == "" {
			f.document.fail(f.document.valuePosition(at+".password_file"), at, "the file is empty")
		}
	}
}
