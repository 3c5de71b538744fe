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
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// File is a configuration file that was read. Not for concurrent use.
type File struct {
	document *document
	config   deployment.Config
	exposed  Errors // secrets that others can read
	// Missing are the key files that do not exist yet; see Options.
	Missing []string
}

// Options say how secrets are read.
type Options struct {
	// MissingKeys accepts key files that do not exist: stand-ins are used instead, for
	// checks, and File.Missing names the files.
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
	return "; correct --config (a relative path begins where the command runs), or begin with a copy of docs/example.yaml"
}

// Parse reads the text of a file. Errors call it name, and relative paths begin in the
// directory of name, or in the current one if name is no file.
func Parse(name string, body []byte, e Environment) (*File, error) {
	dir := filepath.Dir(name)
	if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") { // the standard input, or <(…) of a shell
		dir = "."
	}
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
	d := doc.draft
	for i := range d.cfg.Metrics {
		doc.keysOf(i)
		doc.outermost(i)
	}
	if _, given := doc.valuePositions["privacy.delta_keys"]; given && d.cfg.Privacy.DeltaKeys == 0 && doc.anyPrivate() {
		doc.fail(doc.valuePosition("privacy.delta_keys"), "privacy.delta_keys", "a metric has private keys, which need a part of delta: leave the field out for a tenth of it, or give a number above 0")
	}
	doc.oneSource("keys.noise", d.noise)
	doc.oneSource("keys.user_hash", d.userHash)
	if d.record.file != "" && d.record.env != "" {
		doc.fail(doc.position("keys.record"), "keys.record", "give file or env, not both")
	}
	if sasl := d.cfg.Kafka.SASL; sasl != nil {
		doc.onePassword("kafka.sasl", sasl.Password.Reveal(), d.saslPassword, sasl.Mechanism != deployment.SASLOAuthBearer || sasl.TokenURL.Reveal() != "")
	}
	if registry := d.cfg.Events.Registry; registry != nil {
		doc.onePassword("events.registry", registry.Password.Reveal(), d.registryPassword, registry.User != "")
	}
	if registry := d.cfg.Outputs.Registry; registry != nil {
		doc.onePassword("outputs.registry", registry.Password.Reveal(), d.countsPassword, registry.User != "")
	}
	if d.cfg.Kafka.TLS != nil && (d.cfg.Kafka.TLS.CertFile == "") != (d.cfg.Kafka.TLS.KeyFile == "") {
		doc.fail(doc.position("kafka.tls"), "kafka.tls", "give both cert and key, or neither")
	}
	if d.schemaFile != "" && !event.EncodingOf(d.cfg.Events.Format.Format).Schemas() {
		doc.fail(doc.position("events.schema"), "events.schema", "schema is only used with format: %s", event.Listed(event.Encoding.Schemas, " or "))
	}
}

func (doc *document) anyPrivate() bool {
	return slices.ContainsFunc(doc.draft.cfg.Metrics, func(m deployment.Metric) bool { return m.Keys.Mode == deployment.KeysPrivate })
}

// outermost refuses a bound of 0 beside edges that begin or end elsewhere. The pipeline sees no
// difference between such a bound and none, and refuses the others.
func (doc *document) outermost(i int) {
	m := &doc.draft.cfg.Metrics[i]
	if len(m.Edges) == 0 || m.Min != 0 || m.Max != 0 {
		return
	}
	for end, name := range []string{"min", "max"} {
		at, edge := metricPath(i)+".bounds."+name, m.Edges[end*(len(m.Edges)-1)]
		if _, given := doc.valuePositions[at]; given && edge != 0 {
			doc.fail(doc.valuePosition(at), at, "it must be the outermost edge, %v: leave it out, or correct it", edge)
		}
	}
}

// keysOf decides a metric's key mode.
func (doc *document) keysOf(i int) {
	m, at := &doc.draft.cfg.Metrics[i], metricPath(i)+".keys"
	listed := len(m.Keys.List) > 0 || doc.draft.listFiles[i] != ""
	switch {
	case len(m.Keys.List) > 0 && doc.draft.listFiles[i] != "":
		doc.fail(doc.position(at+".list_file"), at, "give list or list_file, not both")
	case m.Keys.Mode == "" && m.Keys.From != "":
		m.Keys.Mode = deployment.KeysFrom
	case m.Keys.Mode == "" && listed:
		m.Keys.Mode = deployment.KeysPublic
	case m.Keys.Mode == "":
		m.Keys.Mode = deployment.KeysPrivate
	}
	if m.Keys.Mode == deployment.KeysFrom && m.Keys.From == "" {
		doc.fail(doc.position(at+".mode"), at, "mode from needs keys_from: the name of a metric")
	}
	if m.Keys.Mode != deployment.KeysFrom && m.Keys.From != "" {
		doc.fail(doc.position(at+".keys_from"), at, "keys_from is only used with mode: from")
	}
	if m.Keys.Mode != deployment.KeysPublic && listed {
		doc.fail(doc.position(at), at, "a list of keys is only used with mode: public")
	}
}

func (doc *document) oneSource(at string, s source) {
	switch {
	case isKey(filepath.Base(s.file)):
		doc.fail(doc.valuePosition(at+".file"), at+".file", "this is a key itself, not the name of a file: write the key into a file of its own, and take a new one if others may have read this one")
	case isKey(s.env):
		doc.fail(doc.valuePosition(at+".env"), at+".env", "this is a key itself, not the name of a variable: give the variable the key, and take a new one if others may have read this one")
	case s.file != "" && s.env != "":
		doc.fail(doc.position(at), at, "give file or env, not both")
	case s.file == "" && s.env == "":
		doc.fail(doc.position(at), at, "where is the key? For example {file: noise.key}, which holds what openssl rand -hex 32 prints, or {env: NAME}, a variable that does")
	}
}

// isKey reports whether a text is a key that stands where a name belongs: it must not be repeated.
func isKey(text string) bool {
	text = strings.TrimSpace(text)
	_, err := keyfile.ParseSecret(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
	return err == nil
}

func (doc *document) onePassword(at, value string, s source, needed bool) {
	count := 0
	for _, text := range []string{value, s.file, s.env} {
		if text != "" {
			count++
		}
	}
	switch {
	case count > 1:
		doc.fail(doc.position(at), at, "give only one of password, password_env and password_file")
	case count == 0 && needed:
		doc.fail(doc.position(at), at, "where is the password? For example  password_env: NAME, a variable of the environment, or password_file")
	}
}

// Resolve reads the files and environment variables that the configuration names. Its error
// is Errors.
func (f *File) Resolve(o Options) error {
	doc, d := f.document, f.document.draft
	doc.errs, f.exposed = nil, nil
	cfg := d.cfg
	cfg.Keys.Noise = []noisereduction.NoiseKey{{ID: d.noiseID, Secret: secret.New(f.key("keys.noise", d.noise, o, 1))}}
	cfg.Keys.UserHash = secret.New(f.key("keys.user_hash", d.userHash, o, 2))
	cfg.Record = f.record(o)
	if len(d.noiseID) > 64 {
		doc.fail(doc.valuePosition("keys.noise.id"), "keys.noise.id", "it is longer than 64 bytes")
	}
	if sasl := cfg.Kafka.SASL; sasl != nil {
		with := *sasl
		f.password("kafka.sasl", &with.Password, d.saslPassword)
		with.PasswordFile = d.saslPassword.file
		if with.TokenFile != "" {
			f.private("kafka.sasl.token_file", with.TokenFile)
		}
		cfg.Kafka.SASL = &with
	}
	cfg.Events.Registry = f.withPassword("events.registry", cfg.Events.Registry, d.registryPassword, o)
	cfg.Outputs.Registry = f.withPassword("outputs.registry", cfg.Outputs.Registry, d.countsPassword, o)
	format := &cfg.Events.Format
	format.Key, format.MoreKeys = firstOf(d.keyFields)
	format.Time, format.MoreTimes = firstOf(d.timeFields)
	if d.schemaFile != "" {
		cfg.Events.Format.Schema = f.read("events.schema", d.schemaFile, maxSchema)
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
// where none is configured.
func (f *File) withPassword(at string, registry *deployment.Registry, from source, o Options) *deployment.Registry {
	if registry == nil {
		return nil
	}
	with := *registry
	if o.WithoutRegistries {
		return &with
	}
	f.password(at, &with.Password, from)
	with.PasswordFile = from.file
	return &with
}

// lists reads the lists of public keys.
func (f *File) lists(cfg *deployment.Config) {
	metrics := append([]deployment.Metric(nil), cfg.Metrics...)
	for i, name := range f.document.draft.listFiles {
		if name == "" {
			continue
		}
		at := metricPath(i) + ".keys.list_file"
		before := len(f.document.errs)
		for _, key := range Lines(f.read(at, name, maxKeys)) {
			if key != "" {
				metrics[i].Keys.List = append(metrics[i].Keys.List, key)
			}
		}
		if len(metrics[i].Keys.List) == 0 && len(f.document.errs) == before {
			f.document.fail(f.document.valuePosition(at), at, "the file %s has no key in it: write a key in each line", name)
		}
	}
	cfg.Metrics = metrics
}

const (
	maxSchema = 4 << 20
	maxKeys   = 64 << 20
)

// read reads a file that a field names, and notes an error at that field.
func (f *File) read(at, name string, limit int64) string {
	text, err := ReadSmall(name, limit)
	if err != nil {
		f.document.fail(f.document.valuePosition(at), at, "reading %s: %v; a relative name begins where this file is", name, cause(err))
	}
	return text
}

// Files returns the paths of all files that the configuration names, and its own.
func (f *File) Files() []string { return append([]string{f.document.name}, f.document.files...) }

// KeyFiles returns the paths of the files of the noise key and of the user-hash key; "" for
// a key from the environment.
func (f *File) KeyFiles() (noise, userHash string) {
	return f.document.draft.noise.file, f.document.draft.userHash.file
}

// RecordPlace returns where it is recorded which deployments have begun under the keys: in a file,
// or in an environment variable; neither where the user-hash key comes from the environment and
// keys.record is missing.
func (f *File) RecordPlace() (file, variable string) {
	d := f.document.draft
	switch {
	case d.record.file != "" || d.record.env != "" || d.userHash.file == "":
		return d.record.file, d.record.env
	}
	return startrecord.Of(d.userHash.file), ""
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
		f.document.fail(f.document.position("keys"), "keys.record", "%v", err)
	}
	return r
}

// KeyVariables returns the environment variables of the same keys; "" for a key from a file.
func (f *File) KeyVariables() (noise, userHash string) {
	return f.document.draft.noise.env, f.document.draft.userHash.env
}

// Text is the file as it was read.
func (f *File) Text() []byte { return []byte(strings.Join(f.document.lines, "\n")) }
