package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/keyfile"
	"github.com/tollgate-dp/tollgate/internal/app/startrecord"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// File is a configuration file that was read. It must not be used concurrently.
type File struct {
	document *document
	config   deployment.Config
	exposed  Errors // secrets that other users can read
	// Missing lists the key files that do not exist and the variables that are not set. Failed
	// lists the commands that printed no key, each with its error. Both are set only with
	// Options.MissingKeys.
	Missing, Failed []string
}

// Options configures Resolve.
type Options struct {
	// MissingKeys replaces a key by a stand-in if its file does not exist, its variable is not set
	// or its command fails. Commands that only check a configuration set it.
	MissingKeys bool
	// WithoutKeys replaces all keys by stand-ins without reading them. Commands that neither charge
	// nor release set it, because their user may not be allowed to read the keys.
	WithoutKeys bool
	// WithoutRegistries skips the passwords of schema registries, for commands that use none.
	WithoutRegistries bool
	// WithoutRecord skips the record of deployments that have begun. The workers of a run set it,
	// because the process that submitted the run has already checked the record.
	WithoutRecord bool
}

// Open reads a configuration file, or the standard input if name is "-". It does not read the files
// that the configuration names; Resolve does.
func Open(name string, e Environment) (*File, error) {
	file, err := os.Stdin, error(nil)
	if name != "-" {
		file, err = os.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w%s", name, cause(err), missingRemedy(err))
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", name, cause(err))
	}
	return Parse(name, body, e)
}

// missingRemedy returns the remedy for a missing file, or "" for any other error.
func missingRemedy(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "; correct --config (a relative path is relative to the current directory), or start with a copy of " +
		"docs/example.yaml"
}

// Parse reads the text of a configuration file. Paths in the text are relative to the directory of
// name, or to the current directory if name is the standard input.
func Parse(name string, body []byte, e Environment) (*File, error) {
	dir := filepath.Dir(name)
	if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") { // the standard input, or <(…) of a shell
		dir = "."
	}
	body = bytes.TrimPrefix(body, byteOrderMark)
	doc := newDocument(name, dir, body)
	doc.environment = e
	doc.findOverrides()
	doc.read(body)
	if len(doc.errs) == 0 {
		doc.checkCombinations()
	}
	if len(doc.errs) > 0 {
		return nil, doc.errs
	}
	return &File{document: doc}, nil
}

// checkCombinations checks rules between fields that the pipeline cannot check.
func (doc *document) checkCombinations() {
	for i := range doc.config.Metrics {
		if path := element("metrics", i) + ".keys"; len(doc.config.Metrics[i].Keys.List) > 0 &&
			doc.text(path+".list_file") != "" {
			doc.failAt(path, "give list or list_file, not both")
		}
		doc.checkOutermost(i)
	}
	doc.checkKey("keys.noise")
	doc.checkKey("keys.user_hash")
	if doc.text("keys.record.file") != "" && doc.text("keys.record.env") != "" {
		doc.fail(doc.place("keys.record").key, "keys.record", "give file or env, not both")
	}
	if sasl := doc.config.Kafka.SASL; sasl != nil {
		doc.checkPassword("kafka.sasl", sasl.Password.Reveal(), sasl.PasswordFile,
			sasl.Mechanism != settings.SASLOAuthBearer || sasl.TokenURL.Reveal() != "")
	}
	for i, r := range []*deployment.Registry{doc.config.Events.Registry, doc.config.Outputs.Registry} {
		if r != nil {
			doc.checkPassword([]string{"events.registry", "outputs.registry"}[i], r.Password.Reveal(), r.PasswordFile,
				r.User != "")
		}
	}
}

// checkOutermost refuses a bound of 0 that is not the outermost edge. The pipeline refuses all
// other wrong bounds, but takes 0 for an absent bound.
func (doc *document) checkOutermost(i int) {
	m := &doc.config.Metrics[i]
	if len(m.Edges) == 0 || m.Min != 0 || m.Max != 0 {
		return
	}
	for end, name := range []string{"min", "max"} {
		path, edge := element("metrics", i)+".bounds."+name, m.Edges[end*(len(m.Edges)-1)]
		if _, given := doc.places[path]; given && edge != 0 {
			doc.failAt(path, "it must equal the outermost edge, %v: correct it, or leave it out", edge)
		}
	}
}

func (doc *document) checkKey(path string) {
	file, env, command := doc.text(path+".file"), doc.text(path+".env"), doc.apart[path+".command"]
	given := 0
	for _, name := range []string{file, env, strings.Join(command, "")} {
		if name != "" {
			given++
		}
	}
	switch {
	case slices.ContainsFunc(command, isKey):
		doc.failAt(path+".command", "this is the key itself, and others can see the arguments of a command: "+
			"give a command that reads the key, and make a new key if others may have read this one")
	case len(command) > 0 && command[0] == "":
		doc.failAt(path+".command", "the name of the program is empty")
	case isKey(filepath.Base(file)):
		doc.failAt(path+".file", "this is the key itself, not a file name: write the key into a file of its own, "+
			"and make a new key if others may have read this one")
	case isKey(env):
		doc.failAt(path+".env", "this is the key itself, not the name of a variable: set a variable to the key, and "+
			"make a new key if others may have read this one")
	case given > 1:
		doc.fail(doc.place(path).key, path, "give only one of file, env and command")
	case given == 0:
		doc.fail(doc.place(path).key, path, "the source of the key is missing: give {file: noise.key}, a file with "+
			"the output of openssl rand -hex 32, or {env: NAME}, an environment variable with such a key")
	}
}

// isKey reports whether a text is a key. Errors must not repeat keys.
func isKey(text string) bool {
	text = strings.TrimSpace(text)
	_, err := keyfile.ParseSecret(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
	return err == nil
}

func (doc *document) checkPassword(path, value, file string, needed bool) {
	given := slices.DeleteFunc([]string{value, file, doc.text(path + ".password_env")}, func(text string) bool {
		return text == ""
	})
	switch {
	case len(given) > 1:
		doc.fail(doc.place(path).key, path, "give only one of password, password_env and password_file")
	case len(given) == 0 && needed:
		doc.fail(doc.place(path).key, path, "the source of the password is missing: give password_env, the name of "+
			"an environment variable, or password_file")
	}
}

// Resolve reads the files and environment variables that the configuration names. The error, if not
// nil, has the type Errors.
func (f *File) Resolve(o Options) error {
	doc := f.document
	doc.errs, f.exposed, f.Missing, f.Failed = nil, nil, nil, nil
	cfg := doc.config
	cfg.Keys.Noise.Secret = secret.New(f.key("keys.noise", o, 1))
	cfg.Keys.UserHash = secret.New(f.key("keys.user_hash", o, 2))
	cfg.Record = f.record(o)
	if cfg.Kafka.SASL != nil {
		sasl := *cfg.Kafka.SASL
		f.password("kafka.sasl", &sasl.Password, sasl.PasswordFile)
		if sasl.TokenFile != "" {
			f.warnIfExposed("kafka.sasl.token_file", sasl.TokenFile)
		}
		cfg.Kafka.SASL = &sasl
	}
	cfg.Events.Registry = f.withPassword("events.registry", cfg.Events.Registry, o)
	cfg.Outputs.Registry = f.withPassword("outputs.registry", cfg.Outputs.Registry, o)
	format := &cfg.Events.Format
	format.Key, format.MoreKeys = firstOf(doc.apart["events.fields.key"])
	format.Time, format.MoreTimes = firstOf(doc.apart["events.fields.time"])
	if schema := doc.text("events.schema"); schema != "" {
		format.Schema = f.read("events.schema", schema, maxSchema)
	}
	if tls := cfg.Kafka.TLS; tls != nil && tls.KeyFile != "" {
		f.warnIfExposed("kafka.tls.key", tls.KeyFile)
	}
	f.readLists(&cfg)
	if len(doc.errs) > 0 {
		return doc.errs
	}
	f.config = cfg
	return nil
}

// firstOf splits names into the first name and the other names, if there are any.
func firstOf(names []string) (first string, more []string) {
	if len(names) > 0 {
		first = names[0]
	}
	if len(names) > 1 {
		more = names[1:]
	}
	return first, more
}

// withPassword returns a copy of a registry's settings with its password, or nil if there is no
// registry.
func (f *File) withPassword(path string, registry *deployment.Registry, o Options) *deployment.Registry {
	if registry == nil {
		return nil
	}
	copied := *registry
	if o.WithoutRegistries {
		copied.PasswordFile = ""
	} else {
		f.password(path, &copied.Password, copied.PasswordFile)
	}
	return &copied
}

// readLists reads the lists of public keys.
func (f *File) readLists(cfg *deployment.Config) {
	cfg.Metrics = slices.Clone(cfg.Metrics)
	for i := range cfg.Metrics {
		keys, path := &cfg.Metrics[i].Keys, element("metrics", i)+".keys.list_file"
		name := f.document.text(path)
		if name == "" {
			continue
		}
		before := len(f.document.errs)
		keys.List = slices.DeleteFunc(Lines(f.read(path, name, maxKeys)), func(key string) bool { return key == "" })
		if len(keys.List) == 0 && len(f.document.errs) == before {
			f.document.failAt(path, "the file %s contains no keys: write one key on each line", name)
		}
	}
}

const (
	maxSchema = 4 << 20
	maxKeys   = 64 << 20
)

// read reads the file named by a field, and records an error at that field.
func (f *File) read(path, name string, limit int64) string {
	text, err := ReadSmall(name, limit)
	if err != nil {
		f.document.failAt(path, "reading %s: %v; a relative name is relative to the directory of this file", name,
			cause(err))
	}
	return text
}

// Files returns the paths of the configuration file and of all files that it names.
func (f *File) Files() []string { return append([]string{f.document.name}, f.document.files...) }

// KeyFiles returns the names of the files of the noise key and of the user-hash key. A name is ""
// if the key has another source.
func (f *File) KeyFiles() (noise, userHash string) {
	return f.document.text("keys.noise.file"), f.document.text("keys.user_hash.file")
}

// RecordPlace returns the name of the file, or of the environment variable, that contains the
// record of the deployments that have begun under the keys. Both names are "" if keys.record is
// absent and the user-hash key does not come from a file.
func (f *File) RecordPlace() (file, variable string) {
	file, variable = f.document.text("keys.record.file"), f.document.text("keys.record.env")
	if key := f.document.text("keys.user_hash.file"); file == "" && variable == "" && key != "" {
		return startrecord.Path(key), ""
	}
	return file, variable
}

// record reads the record of the deployments that have begun. It returns nil if there is no record,
// if o excludes it, or if o excludes the keys and the user may not read the record.
func (f *File) record(o Options) (r *deployment.Record) {
	if o.WithoutRecord {
		return nil
	}
	file, variable := f.RecordPlace()
	var err error
	switch {
	case variable != "":
		r, err = startrecord.Parse("$"+variable, []byte(f.document.environment.get(variable)))
	case file != "":
		r, err = startrecord.Read(file)
	}
	if r != nil && len(r.Begun) == 0 && len(r.Unfinished) == 0 {
		if r.Named = variable != "" && !o.WithoutKeys; !r.Named {
			r = nil
		}
	}
	if err != nil && !(o.WithoutKeys && errors.Is(err, fs.ErrPermission)) {
		f.document.fail(f.document.place("keys").key, "keys.record", "%v", err)
	}
	return r
}

// KeyPlace describes the place of the key in a field, keys.noise or keys.user_hash.
func (f *File) KeyPlace(field string) string {
	if program := f.document.text(field + ".command"); program != "" {
		return "the key that " + program + " prints"
	}
	if variable := f.document.text(field + ".env"); variable != "" {
		return "the value of the environment variable " + variable
	}
	return f.document.text(field + ".file")
}

// Text returns the text of the file.
func (f *File) Text() []byte { return []byte(strings.Join(f.document.lines, "\n")) }
