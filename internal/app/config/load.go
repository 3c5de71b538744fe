package config

import (
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
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// File is a configuration file that was read. Not for concurrent use.
type File struct {
	document *document
	config   deployment.Config
	exposed  Errors // secrets that others can read
	// Missing are the key files that do not exist yet, and Failed the programs that printed no key,
	// each with its error; see Options.
	Missing, Failed []string
}

// Options say how secrets are read.
type Options struct {
	// MissingKeys accepts key files that do not exist, and commands that fail: stand-ins are used
	// instead, for checks, and File.Missing names the files and File.Failed the commands.
	MissingKeys bool
	// WithoutKeys reads no key, also where there are any, as this user may not be allowed to:
	// stand-ins are used instead. It is for what neither charges nor releases.
	WithoutKeys bool
	// WithoutRegistries reads no password of a registry. It is for what asks none.
	WithoutRegistries bool
	// WithoutRecord does not look which deployments have begun under the keys. It is for workers
	// of a run: the process that submitted it has looked, and the record lies with that process.
	WithoutRecord bool
}

// Open reads a file, "-" for the standard input, but none of the files that it names. Variables are
// those of e.
func Open(name string, e Environment) (*File, error) {
	file, err := os.Stdin, error(nil)
	if name != "-" {
		file, err = os.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w%s", name, cause(err), beginning(err))
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", name, cause(err))
	}
	return Parse(name, body, e)
}

// beginning says what to do about a file that is not there.
func beginning(err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "; correct --config (a relative path begins where the command runs), or begin with a copy of " +
		"docs/example.yaml"
}

// Parse reads the text of a file. Errors call it name, and relative paths begin in the
// directory of name, or in the current one if name is no file.
func Parse(name string, body []byte, e Environment) (*File, error) {
	dir := filepath.Dir(name)
	if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") { // the standard input, or <(…) of a shell
		dir = "."
	}
	body = withoutMark(body)
	doc := newDocument(name, dir, body)
	doc.environment = e
	doc.findOverrides()
	doc.read(body)
	if len(doc.errs) == 0 {
		doc.together()
	}
	if len(doc.errs) > 0 {
		return nil, doc.errs
	}
	return &File{document: doc}, nil
}

// together checks rules between fields that the pipeline cannot check.
func (doc *document) together() {
	for i := range doc.config.Metrics {
		if path := element("metrics", i) + ".keys"; len(doc.config.Metrics[i].Keys.List) > 0 &&
			doc.text(path+".list_file") != "" {
			doc.failAt(path, "give list or list_file, not both")
		}
		doc.outermost(i)
	}
	doc.oneSource("keys.noise")
	doc.oneSource("keys.user_hash")
	if doc.text("keys.record.file") != "" && doc.text("keys.record.env") != "" {
		doc.fail(doc.place("keys.record").key, "keys.record", "give file or env, not both")
	}
	if sasl := doc.config.Kafka.SASL; sasl != nil {
		doc.onePassword("kafka.sasl", sasl.Password.Reveal(), sasl.PasswordFile,
			sasl.Mechanism != deployment.SASLOAuthBearer || sasl.TokenURL.Reveal() != "")
	}
	for i, r := range []*deployment.Registry{doc.config.Events.Registry, doc.config.Outputs.Registry} {
		if r != nil {
			doc.onePassword([]string{"events.registry", "outputs.registry"}[i], r.Password.Reveal(), r.PasswordFile,
				r.User != "")
		}
	}
}

// outermost refuses a bound of 0 beside edges that begin or end elsewhere. The pipeline sees no
// difference between such a bound and none, and refuses the others.
func (doc *document) outermost(i int) {
	m := &doc.config.Metrics[i]
	if len(m.Edges) == 0 || m.Min != 0 || m.Max != 0 {
		return
	}
	for end, name := range []string{"min", "max"} {
		path, edge := element("metrics", i)+".bounds."+name, m.Edges[end*(len(m.Edges)-1)]
		if _, given := doc.places[path]; given && edge != 0 {
			doc.failAt(path, "it must be the outermost edge, %v: leave it out, or correct it", edge)
		}
	}
}

func (doc *document) oneSource(path string) {
	file, env, command := doc.text(path+".file"), doc.text(path+".env"), doc.apart[path+".command"]
	given := 0
	for _, name := range []string{file, env, strings.Join(command, "")} {
		if name != "" {
			given++
		}
	}
	switch {
	case slices.ContainsFunc(command, isKey):
		doc.failAt(path+".command", "this is a key itself, which others see among the arguments of the command: "+
			"give a command that reads the key, and take a new key if others may have read this one")
	case len(command) > 0 && command[0] == "":
		doc.failAt(path+".command", "the name of the program is empty")
	case isKey(filepath.Base(file)):
		doc.failAt(path+".file", "this is a key itself, not the name of a file: write the key into a file of its own, "+
			"and take a new one if others may have read this one")
	case isKey(env):
		doc.failAt(path+".env", "this is a key itself, not the name of a variable: give the variable the key, and "+
			"take "+
			"a new one if others may have read this one")
	case given > 1:
		doc.fail(doc.place(path).key, path, "give only one of file, env and command")
	case given == 0:
		doc.fail(doc.place(path).key, path, "where is the key? For example {file: noise.key}, which holds what "+
			"openssl "+
			"rand -hex 32 prints, or {env: NAME}, a variable that does")
	}
}

// isKey reports whether a text is a key that stands where a name belongs: it must not be repeated.
func isKey(text string) bool {
	text = strings.TrimSpace(text)
	_, err := keyfile.ParseSecret(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
	return err == nil
}

func (doc *document) onePassword(path, value, file string, needed bool) {
	given := slices.DeleteFunc([]string{value, file, doc.text(path + ".password_env")}, func(text string) bool {
		return text == ""
	})
	switch {
	case len(given) > 1:
		doc.fail(doc.place(path).key, path, "give only one of password, password_env and password_file")
	case len(given) == 0 && needed:
		doc.fail(doc.place(path).key, path, "where is the password? For example  password_env: NAME, a variable of "+
			"the "+
			"environment, or password_file")
	}
}

// Resolve reads the files and environment variables that the configuration names. Its error
// is Errors.
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
			f.private("kafka.sasl.token_file", sasl.TokenFile)
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
		f.private("kafka.tls.key", tls.KeyFile)
	}
	f.lists(&cfg)
	if len(doc.errs) > 0 {
		return doc.errs
	}
	f.config = cfg
	return nil
}

// firstOf returns the first name and the others, of which there may be none.
func firstOf(names []string) (first string, more []string) {
	if len(names) > 0 {
		first = names[0]
	}
	if len(names) > 1 {
		more = names[1:]
	}
	return first, more
}

// withPassword returns a copy of a registry's settings with the password from its source; nil
// if none is configured.
func (f *File) withPassword(path string, registry *deployment.Registry, o Options) *deployment.Registry {
	if registry == nil {
		return nil
	}
	with := *registry
	if o.WithoutRegistries {
		with.PasswordFile = ""
	} else {
		f.password(path, &with.Password, with.PasswordFile)
	}
	return &with
}

// lists reads the lists of public keys.
func (f *File) lists(cfg *deployment.Config) {
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
			f.document.failAt(path, "the file %s has no key in it: write a key in each line", name)
		}
	}
}

const (
	maxSchema = 4 << 20
	maxKeys   = 64 << 20
)

// read reads a file that a field names, and notes an error at that field.
func (f *File) read(path, name string, limit int64) string {
	text, err := ReadSmall(name, limit)
	if err != nil {
		f.document.failAt(path, "reading %s: %v; a relative name begins where this file is", name, cause(err))
	}
	return text
}

// Files returns the paths of all files that the configuration names, and its own.
func (f *File) Files() []string { return append([]string{f.document.name}, f.document.files...) }

// KeyFiles returns the paths of the files of the noise key and of the user-hash key; "" for
// a key from elsewhere.
func (f *File) KeyFiles() (noise, userHash string) {
	return f.document.text("keys.noise.file"), f.document.text("keys.user_hash.file")
}

// RecordPlace returns where it is recorded which deployments have begun under the keys: in a file,
// or in an environment variable; neither where the user-hash key comes from no file and
// keys.record is missing.
func (f *File) RecordPlace() (file, variable string) {
	file, variable = f.document.text("keys.record.file"), f.document.text("keys.record.env")
	if key := f.document.text("keys.user_hash.file"); file == "" && variable == "" && key != "" {
		return startrecord.Path(key), ""
	}
	return file, variable
}

// record reads which deployments have begun; nil where that is recorded nowhere, where this user
// may not see the keys, or where the caller does not want it.
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

// KeyVariables returns the environment variables of the same keys; "" for a key from elsewhere.
func (f *File) KeyVariables() (noise, userHash string) {
	return f.document.text("keys.noise.env"), f.document.text("keys.user_hash.env")
}

// KeyPrograms returns the programs that print the same keys; "" for a key from elsewhere.
func (f *File) KeyPrograms() (noise, userHash string) {
	return f.document.text("keys.noise.command"), f.document.text("keys.user_hash.command")
}

// Text is the file as it was read.
func (f *File) Text() []byte { return []byte(strings.Join(f.document.lines, "\n")) }
