package config

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

func kafkaFields() []field {
	return []field{
		{
			name: "brokers", kind: list, example: `["localhost:9092"]`, needed: true, goField: "Kafka.Brokers",
			meaning: "addresses of brokers, `host:port`, tried in this order",
		},
		{
			name: "tls", kind: object, absent: "plaintext", optional: true, goField: "Kafka.TLS", plain: true,
			meaning: "encryption. `tls: true` trusts the system's authorities. Tollgate reads the files again for every connection",
			fields: []field{
				{name: "ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed the brokers' certificates", goField: "Kafka.TLS.CAFile"},
				{name: "cert", kind: path, absent: "none is sent", meaning: "PEM file of the client's certificate", goField: "Kafka.TLS.CertFile"},
				{name: "key", kind: path, absent: "none", meaning: "PEM file of the client's key", goField: "Kafka.TLS.KeyFile"},
				{name: "server_name", kind: text, absent: "the broker's host name", meaning: "host name that the brokers' certificates must have", goField: "Kafka.TLS.ServerName"},
			},
		},
		{
			name: "sasl", kind: object, absent: "none", optional: true, goField: "Kafka.SASL",
			meaning: "how Tollgate authenticates to the brokers",
			fields: slices.Concat([]field{
				{
					name: "mechanism", kind: text, example: "scram-sha-512", needed: true, oneOf: []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}, goField: "Kafka.SASL.Mechanism", meaning: "SASL mechanism: with a password, or with a token (`oauthbearer`)",
				},
				{name: "user", kind: text, example: "tollgate", absent: "needed, except with `token_file`", meaning: "user name; with `token_url`, the client id", goField: "Kafka.SASL.User"},
			}, passwordFields("Kafka.SASL.", func(d *draft) *source { return &d.saslPassword }), tokenFields()),
		},
	}
}

// tokenFields returns the fields of oauthbearer.
func tokenFields() []field {
	return []field{
		{name: "token_file", kind: path, absent: "`token_url`", meaning: "for `oauthbearer`: file with a token that another program keeps valid. Tollgate reads it again for every connection", goField: "Kafka.SASL.TokenFile"},
		{name: "token_url", kind: text, absent: "`token_file`", meaning: "for `oauthbearer`: token endpoint for the client credentials grant, with `user` as client id and `password` as client secret. Errors do not show its query", goField: "Kafka.SASL.TokenURL"},
		{name: "token_ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed the certificate of `token_url`", goField: "Kafka.SASL.TokenCAFile"},
		{name: "audience", kind: text, absent: "none", meaning: "audience to request at `token_url`", goField: "Kafka.SASL.Audience"},
		{name: "scopes", kind: list, absent: "none", meaning: "scopes to request at `token_url`", goField: "Kafka.SASL.Scopes"},
		{name: "extensions", kind: list, absent: "none", meaning: "for `oauthbearer`: extensions `name=value` to send to the brokers with the token", goField: "Kafka.SASL.Extensions"},
	}
}

// passwordFields returns the three fields that can give a password; one of them is used.
func passwordFields(in string, from func(d *draft) *source) []field {
	return []field{
		{name: "password", kind: text, absent: "`password_env` or `password_file`", meaning: "the password itself. Prefer `password_file` or `password_env`", goField: in + "Password"},
		{name: "password_env", kind: text, absent: "", meaning: "environment variable with the password. Tollgate drops a line end after it", to: func(d *draft) any { return &from(d).env }},
		{name: "password_file", kind: path, absent: "", meaning: "file with the password. Tollgate reads it again for every connection and drops a line end after the password", goField: in + "PasswordFile", to: func(d *draft) any { return &from(d).file }},
	}
}

// registryFields returns the fields of the registry in this part of deployment.Config, whose
// address may be changed as change says.
func registryFields(in, address string, change changing, password func(d *draft) *source) []field {
	return append([]field{
		{name: "url", kind: text, example: `"https://registry:8081"`, needed: true, change: change, meaning: address, goField: in + "URL"},
		{name: "user", kind: text, absent: "no authentication", meaning: "user name", goField: in + "User"},
		{name: "ca", kind: path, absent: "the system's authorities", meaning: "PEM file of the authority that signed the registry's certificate", goField: in + "CAFile"},
	}, passwordFields(in, password)...)
}

func eventsFields() []field {
	var records []string
	var example, file string
	for _, e := range event.Encodings() {
		records = append(records, "`"+e.Name+"`: "+e.Record)
		if e.Members != nil {
			example = e.Name
		}
		if e.Schemas() {
			file = e.SchemaFile
		}
	}
	rows, schemas := event.Listed(event.Encoding.Tabular, " and "), event.Listed(event.Encoding.Schemas, " and ")
	return []field{
		{
			name: "topic", kind: text, example: "visits", needed: true, change: never, goField: "Events.Topic",
			meaning: "topic with the events. Tollgate only reads it",
		},
		{
			name: "format", kind: text, example: example, needed: true, oneOf: event.Names(event.Encoding.Known), change: never, goField: "Events.Format.Format",
			meaning: "format of the records. " + strings.Join(records, "; "),
		},
		{
			name: "schema", kind: path, absent: "`registry`", change: byFields, goField: "Events.Format.Schema",
			meaning: "for " + schemas + ": `" + file + "` file with the schema that producers write events with",
			to:      func(d *draft) any { return &d.schemaFile },
		},
		{
			name: "registry", kind: object, absent: "none", optional: true, change: never, goField: "Events.Registry",
			meaning: "for " + schemas + ": schema registry with Confluent's API. Every record then begins with the id of a schema of this registry",
			fields: registryFields("Events.Registry.", "address of the registry, `https://…`. Use a name that you can move to another machine. You may change http to https at the same port",
				never, func(d *draft) *source { return &d.registryPassword }),
		},
		{
			name: "accept_size_retention", kind: boolean, initial: "false", goField: "Events.AcceptSizeRetention",
			meaning: "`true` accepts an events topic that deletes records by size (`retention.bytes`). Then make sure that it keeps records for days: a run refuses to start if records that it needs are gone",
		},
		{
			name: "columns", kind: list, absent: "needed for " + rows, change: byFields, goField: "Events.Format.Columns",
			meaning: "for " + rows + ": names of the columns, in order",
		},
		{name: "fields", kind: object, needed: true, meaning: "which field of a record holds what. Separate the parts of a path into nested records by dots", fields: []field{
			{
				name: "user", kind: text, example: "user", needed: true, change: byFields, goField: "Events.Format.User",
				meaning: "field with the user id: 1 to 1024 bytes, different for every person",
			},
			{
				name: "key", kind: list, single: true, absent: "all events have the empty key", change: byFields, goField: "Events.Format.Key",
				meaning: "the field that is the key, at most 512 bytes of UTF-8; or up to four fields, `[country, page]`, whose values become [one key](events.md#keys-of-several-fields); in Go, `Events.Format.MoreKeys` has the fields after the first",
				to:      func(d *draft) any { return &d.keyFields },
			},
			{
				name: "time", kind: list, single: true, example: "at", needed: true, change: byFields, goField: "Events.Format.Time",
				meaning: "field with the time of the event; or up to four fields, `[date, time]`, whose texts are read [as one](events.md#times); in Go, `Events.Format.MoreTimes` has the fields after the first. With `privacy.period` you can never change it",
				to:      func(d *draft) any { return &d.timeFields },
			},
			{
				name: "value", kind: text, absent: "none; needed for sums, means, variances, standard deviations, quantiles and histograms", change: byFields, goField: "Events.Format.Value",
				meaning: "field with the number that these kinds read: an integer, or any number if `events.decimals` is set. Every record must have it, unless `events.no_value` says otherwise",
			},
		}},
		{
			name: "decimals", kind: integer, example: "2", absent: "values are integers", in: within(1, event.MaxDecimals), change: byFields, goField: "Events.Format.Decimals",
			meaning: "[values with decimals](events.md#values): how many decimals to keep. With 2, 12.345 is 1235 hundredths, and bounds, edges and released values are in hundredths",
		},
		{
			name: "decimal_comma", kind: boolean, initial: "false", change: byFields, goField: "Events.Format.DecimalComma",
			meaning: "values in columns and strings have a decimal comma: 12,5 or 1.234,56",
		},
		{
			name: "no_value", kind: text, example: event.NoValueSkip, absent: "such a record becomes a dead letter", change: byFields, oneOf: []string{event.NoValueSkip, event.NoValueBroken}, goField: "Events.Format.NoValue",
			meaning: "`skip` leaves out records whose value is absent, null or empty; with `broken` they are dead letters",
		},
		{
			name: "no_user", kind: text, example: event.NoUserEach, absent: "such a record becomes a dead letter", change: never, oneOf: []string{event.NoUserEach}, goField: "Events.Format.NoUser",
			meaning: "`each` makes every record whose user field is absent, null or empty a user of its own: a person with several such records is protected [for each of them only](events.md#records-without-a-user)",
		},
		{
			name: "time_unit", kind: text, example: "rfc3339", absent: "needed, except for " + schemas + " fields with a logical type", change: newName, oneOf: event.TimeUnits(), goField: "Events.Format.TimeUnit",
			meaning: "unit of the time field: [numbers](events.md#times), such as `s` or `ms` since 1970, RFC 3339, or `text` in a usual layout or in `time_layout`; years 1 to 9999. With `privacy.period` you can never change it",
		},
		{
			name: "time_layout", kind: text, example: `"%d.%m.%Y %H:%M:%S"`, absent: "the usual layouts", change: newName, goField: "Events.Format.TimeLayout",
			meaning: "for `time_unit: text`: layout of times, as strptime has it. With `privacy.period` you can never change it",
		},
		{
			name: "time_zone", kind: text, example: "Europe/Zurich", absent: "UTC", change: newName, goField: "Events.Format.TimeZone",
			meaning: "for `time_unit: text`: zone of times that do not say their own. With `privacy.period` you can never change it",
		},
		{
			name: "max_record_bytes", kind: integer, unit: "bytes", initial: "1048576", in: within(1, 1<<30), change: byChange, goField: "Events.Format.MaxRecordBytes",
			meaning: "longest record that is read. Longer ones become dead letters of class `oversized`",
		},
	}
}
