package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// File is a configuration file that was read. Not for concurrent use.
type File struct {
	reader *reader
	config pipeline.Config
	// Missing are the key files that do not exist yet; see Options.
	Missing []string
}

// Options say where secrets come from.
type Options struct {
	Getenv func(string) string // default: os.Getenv
	// MissingKeys lets key files be absent: stand-ins take their place, for
	// checks, and File.Missing names them.
	MissingKeys bool
}

// Open reads a file, but nothing that it names.
func Open(name string) (*File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening the configuration: %w", err)
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(name, body)
}

// Parse is Open for a text; name is what errors call it, and relative paths
// begin in its directory.
func Parse(name string, body []byte) (*File, error) {
	r := newReader(name, filepath.Dir(name), body)
	r.read(body)
	if len(r.errs) == 0 {
		r.together()
	}
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return &File{reader: r}, nil
}

// together checks what fields say about each other and the pipeline cannot see.
func (r *reader) together() {
	d := r.draft
	for i := range d.cfg.Metrics {
		r.keysOf(i)
	}
	if _, given := r.values["privacy.delta_keys"]; given && d.cfg.Privacy.DeltaKeys == 0 && r.anyPrivate() {
		r.fail(r.valuePlace("privacy.delta_keys"), "privacy.delta_keys", "a metric has private keys, which need a part of delta: leave the field out for a tenth of it, or give a number above 0")
	}
	r.oneSource("keys.noise", d.noise)
	r.oneSource("keys.user_hash", d.userHash)
	if sasl := d.cfg.Kafka.SASL; sasl != nil {
		r.onePassword("kafka.sasl", sasl.Password, d.saslPassword, true)
	}
	if registry := d.cfg.Events.Registry; registry != nil {
		r.onePassword("events.registry", registry.Password, d.registryPassword, registry.User != "")
	}
	if d.cfg.Kafka.TLS != nil && (d.cfg.Kafka.TLS.CertFile == "") != (d.cfg.Kafka.TLS.KeyFile == "") {
		r.fail(r.place("kafka.tls"), "kafka.tls", "cert and key go together")
	}
	if d.schemaFile != "" && d.cfg.Events.Format.Format != "avro" {
		r.fail(r.place("events.schema"), "events.schema", "it goes with format: avro")
	}
}

func (r *reader) anyPrivate() bool {
	return slices.ContainsFunc(r.draft.cfg.Metrics, func(m pipeline.Metric) bool { return m.Keys.Mode == pipeline.KeysPrivate })
}

// keysOf settles a metric's key mode.
func (r *reader) keysOf(i int) {
	m, at := &r.draft.cfg.Metrics[i], metricPath(i)+".keys"
	listed := len(m.Keys.List) > 0 || r.draft.listFiles[i] != ""
	switch {
	case len(m.Keys.List) > 0 && r.draft.listFiles[i] != "":
		r.fail(r.place(at+".list_file"), at, "give list or list_file, not both")
	case m.Keys.Mode == "" && m.Keys.From != "":
		m.Keys.Mode = pipeline.KeysFrom
	case m.Keys.Mode == "" && listed:
		m.Keys.Mode = pipeline.KeysPublic
	case m.Keys.Mode == "":
		m.Keys.Mode = pipeline.KeysPrivate
	}
	if m.Keys.Mode == pipeline.KeysFrom && m.Keys.From == "" {
		r.fail(r.place(at+".mode"), at, "mode from needs keys_from: the name of a metric")
	}
	if m.Keys.Mode != pipeline.KeysFrom && m.Keys.From != "" {
		r.fail(r.place(at+".keys_from"), at, "keys_from goes with mode: from")
	}
	if m.Keys.Mode != pipeline.KeysPublic && listed {
		r.fail(r.place(at), at, "a list goes with mode: public")
	}
}

func (r *reader) oneSource(at string, s source) {
	if (s.file == "") == (s.env == "") {
		r.fail(r.place(at), at, "give either file or env; the file holds what openssl rand -hex 32 prints")
	}
}

func (r *reader) onePassword(at, value string, s source, needed bool) {
	count := 0
	for _, text := range []string{value, s.file, s.env} {
		if text != "" {
			count++
		}
	}
	if count > 1 || count == 0 && needed {
		r.fail(r.place(at), at, "give one of password, password_env and password_file")
	}
}

// Resolve reads the files and environment variables that the configuration
// names. Errors.
func (f *File) Resolve(o Options) error {
	r, d := f.reader, f.reader.draft
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	r.errs = nil
	cfg := d.cfg
	var noise [32]byte
	noise, cfg.Keys.UserHash = f.key("keys.noise", d.noise, o, 1), f.key("keys.user_hash", d.userHash, o, 2)
	cfg.Keys.Noise = []noisereduction.NoiseKey{{ID: d.noiseID, Secret: noise}}
	if len(d.noiseID) > 64 {
		r.fail(r.valuePlace("keys.noise.id"), "keys.noise.id", "it is longer than 64 bytes")
	}
	if sasl := cfg.Kafka.SASL; sasl != nil {
		with := *sasl
		f.password("kafka.sasl", &with.Password, d.saslPassword, o)
		cfg.Kafka.SASL = &with
	}
	if registry := cfg.Events.Registry; registry != nil {
		with := *registry
		f.password("events.registry", &with.Password, d.registryPassword, o)
		cfg.Events.Registry = &with
	}
	if d.schemaFile != "" {
		cfg.Events.Format.Schema = f.read("events.schema", d.schemaFile, maxSchema)
	}
	f.lists(&cfg)
	if len(r.errs) > 0 {
		return r.errs
	}
	f.config = cfg
	return nil
}

// lists reads the lists of public keys.
func (f *File) lists(cfg *pipeline.Config) {
	metrics := append([]pipeline.Metric(nil), cfg.Metrics...)
	for i, name := range f.reader.draft.listFiles {
		if name == "" {
			continue
		}
		at := metricPath(i) + ".keys.list_file"
		before := len(f.reader.errs)
		for _, key := range Lines(f.read(at, name, maxKeys)) {
			if key != "" {
				metrics[i].Keys.List = append(metrics[i].Keys.List, key)
			}
		}
		if len(metrics[i].Keys.List) == 0 && len(f.reader.errs) == before {
			f.reader.fail(f.reader.valuePlace(at), at, "the file has no key in it")
		}
	}
	cfg.Metrics = metrics
}

const (
	maxSchema = 4 << 20
	maxKeys   = 64 << 20
)

// read reads a file that a field names; an error is the field's.
func (f *File) read(at, name string, limit int64) string {
	text, err := ReadSmall(name, limit)
	if err != nil {
		f.reader.fail(f.reader.valuePlace(at), at, "%v", cause(err))
	}
	return text
}

// KeyFiles are the files of the noise key and of the user-hash key; "" for one
// from the environment.
func (f *File) KeyFiles() (noise, userHash string) {
	return f.reader.draft.noise.file, f.reader.draft.userHash.file
}
