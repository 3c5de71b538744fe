package config

import (
	"slices"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

func kafkaFields() []field {
	return []field{
		{
			name: "brokers", kind: list, example: `["localhost:9092"]`, needed: true, goField: "Kafka.Brokers",
			meaning: "`host:port`, tried in order",
			to:      func(d *draft) any { return &d.cfg.Kafka.Brokers },
		},
		{
			name: "tls", kind: object, absent: "plaintext", goField: "Kafka.TLS", plain: true,
			meaning: "encryption; `tls: true` trusts the system's authorities. The files are read anew for every connection",
			begin:   func(d *draft, _, _ int) { d.cfg.Kafka.TLS = &deployment.TLS{} },
			fields: []field{
				{name: "ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed the brokers' certificates", to: func(d *draft) any { return &d.cfg.Kafka.TLS.CAFile }},
				{name: "cert", kind: path, absent: "none is sent", meaning: "PEM file of the client's certificate", to: func(d *draft) any { return &d.cfg.Kafka.TLS.CertFile }},
				{name: "key", kind: path, absent: "none", meaning: "PEM file of the client's key", to: func(d *draft) any { return &d.cfg.Kafka.TLS.KeyFile }},
				{name: "server_name", kind: text, absent: "the broker's host name", meaning: "name in the brokers' certificates", to: func(d *draft) any { return &d.cfg.Kafka.TLS.ServerName }},
			},
		},
		{
			name: "sasl", kind: object, absent: "none", goField: "Kafka.SASL",
			meaning: "authentication",
			begin:   func(d *draft, _, _ int) { d.cfg.Kafka.SASL = &deployment.SASL{} },
			fields: slices.Concat([]field{
				{
					name: "mechanism", kind: text, example: "scram-sha-512", needed: true, oneOf: []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}, meaning: "how this side proves who it is: by a password, or by a token (oauthbearer)",
					to: func(d *draft) any { return &d.cfg.Kafka.SASL.Mechanism },
				},
				{name: "user", kind: text, example: "tollgate", absent: "needed, except with `token_file`", meaning: "user name; with `token_url` the client's id", to: func(d *draft) any { return &d.cfg.Kafka.SASL.User }},
			}, passwordFields(func(d *draft) *secret.Of[string] { return &d.cfg.Kafka.SASL.Password }, func(d *draft) *source { return &d.saslPassword }), tokenFields()),
		},
	}
}

// tokenFields returns the fields of oauthbearer.
func tokenFields() []field {
	return []field{
		{name: "token_file", kind: path, absent: "`token_url`", meaning: "oauthbearer: file with a token, which something else keeps up to date; read anew for every connection", to: func(d *draft) any { return &d.cfg.Kafka.SASL.TokenFile }},
		{name: "token_url", kind: text, absent: "`token_file`", meaning: "oauthbearer: endpoint that gives tokens to a client with an id (`user`) and a secret (`password`): the grant of client credentials", to: func(d *draft) any { return &d.cfg.Kafka.SASL.TokenURL }},
		{name: "token_ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed the certificate of `token_url`", to: func(d *draft) any { return &d.cfg.Kafka.SASL.TokenCAFile }},
		{name: "scopes", kind: list, absent: "none", meaning: "what to ask for at `token_url`", to: func(d *draft) any { return &d.cfg.Kafka.SASL.Scopes }},
		{name: "extensions", kind: list, absent: "none", meaning: "oauthbearer: `name=value`, sent to the brokers with the token", to: func(d *draft) any { return &d.cfg.Kafka.SASL.Extensions }},
	}
}

// passwordFields returns the three fields that can give a password; one of them is used.
func passwordFields(value func(d *draft) *secret.Of[string], from func(d *draft) *source) []field {
	return []field{
		{name: "password", kind: text, absent: "one of the next two", meaning: "the password itself: better not in a file like this", to: func(d *draft) any { return value(d) }},
		{name: "password_env", kind: text, absent: "", meaning: "environment variable with the password", to: func(d *draft) any { return &from(d).env }},
		{name: "password_file", kind: path, absent: "", meaning: "file with the password, read anew for every connection; a line end after it is dropped", to: func(d *draft) any { return &from(d).file }},
	}
}

// registryFields returns the fields of a registry, whose address may be changed as change says.
func registryFields(change changing, address string, of func(d *draft) *deployment.Registry, password func(d *draft) *source) []field {
	return append([]field{
		{name: "url", kind: text, example: `"https://registry:8081"`, needed: true, change: change, meaning: address, to: func(d *draft) any { return &of(d).URL }},
		{name: "user", kind: text, absent: "no authentication", meaning: "user name", to: func(d *draft) any { return &of(d).User }},
		{name: "ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed its certificate", to: func(d *draft) any { return &of(d).CAFile }},
	}, passwordFields(func(d *draft) *secret.Of[string] { return &of(d).Password }, password)...)
}

func eventsFields() []field {
	return []field{
		{
			name: "topic", kind: text, example: "visits", needed: true, change: never, goField: "Events.Topic",
			meaning: "the topic that is read, never written",
			to:      func(d *draft) any { return &d.cfg.Events.Topic },
		},
		{
			name: "format", kind: text, example: "jsonl", needed: true, oneOf: []string{"csv", "tsv", "jsonl", "avro"}, change: never, goField: "Events.Format.Format",
			meaning: "csv (RFC 4180) or tsv (no quoting), a row a record; jsonl: an object a record; avro: with `schema` or `registry`",
			to:      func(d *draft) any { return &d.cfg.Events.Format.Format },
		},
		{
			name: "schema", kind: path, absent: "by the registry", change: byFields, goField: "Events.Format.Schema",
			meaning: "avro: the `.avsc` file of the schema that events were written with",
			to:      func(d *draft) any { return &d.schemaFile },
		},
		{
			name: "registry", kind: object, absent: "none", change: never, goField: "Events.Registry",
			meaning: "avro: schema registry with Confluent's API; records then begin with a schema id, whose meaning is the registry's",
			begin:   func(d *draft, _, _ int) { d.cfg.Events.Registry = &deployment.Registry{} },
			fields: registryFields(never, "its address, `https://…`: a name that you can move. From http to https, at the same port, it may change",
				func(d *draft) *deployment.Registry { return d.cfg.Events.Registry }, func(d *draft) *source { return &d.registryPassword }),
		},
		{
			name: "accept_size_retention", kind: boolean, initial: "false", goField: "Events.AcceptSizeRetention",
			meaning: "starts although the topic forgets by size (`retention.bytes`): you then have to make sure that records stay for days; a restart stops if records that it needs are gone",
			to:      func(d *draft) any { return &d.cfg.Events.AcceptSizeRetention },
		},
		{
			name: "columns", kind: list, absent: "needed for csv and tsv", change: byFields, goField: "Events.Format.Columns",
			meaning: "csv and tsv: the names of a row's fields, in order",
			to:      func(d *draft) any { return &d.cfg.Events.Format.Columns },
		},
		{name: "fields", kind: object, needed: true, meaning: "which field has what; paths into nested records have dots", fields: []field{
			{
				name: "user", kind: text, example: "user", needed: true, change: byFields, goField: "Events.Format.User",
				meaning: "field with the user's id: 1 to 1024 bytes, a different one for every person",
				to:      func(d *draft) any { return &d.cfg.Events.Format.User },
			},
			{
				name: "key", kind: text, absent: "every event has the empty key", change: byFields, goField: "Events.Format.Key",
				meaning: "field with the key: at most 512 bytes of UTF-8",
				to:      func(d *draft) any { return &d.cfg.Events.Format.Key },
			},
			{
				name: "time", kind: text, example: "at", needed: true, change: byFields, goField: "Events.Format.Time",
				meaning: "field with the event's time; with `privacy.period` it never changes",
				to:      func(d *draft) any { return &d.cfg.Events.Format.Time },
			},
			{
				name: "value", kind: text, absent: "none; needed for sums", change: byFields, goField: "Events.Format.Value",
				meaning: "integer field that sums add up; every record must have it",
				to:      func(d *draft) any { return &d.cfg.Events.Format.Value },
			},
		}},
		{
			name: "time_unit", kind: text, example: "rfc3339", absent: "needed, except for avro fields with a logical type", change: newName, oneOf: []string{"s", "ms", "us", "rfc3339"}, goField: "Events.Format.TimeUnit",
			meaning: "s, ms or us since 1970, or RFC 3339; years 1 to 9999; with `privacy.period` it never changes",
			to:      func(d *draft) any { return &d.cfg.Events.Format.TimeUnit },
		},
		{
			name: "max_record_bytes", kind: integer, unit: "bytes", initial: "1048576", in: within(1, 1<<30), change: byChange, goField: "Events.Format.MaxRecordBytes",
			meaning: "longer records are dead letters of class `oversized`",
			to:      func(d *draft) any { return &d.cfg.Events.Format.MaxRecordBytes },
		},
	}
}
