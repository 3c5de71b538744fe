package settings

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

func kafkaFields() []Field {
	return []Field{
		{
			Name: "brokers", Kind: List, Example: `["localhost:9092"]`, Needed: true, Path: "Kafka.Brokers",
			Meaning: "addresses of brokers, `host:port`, tried in this order",
		},
		{
			Name: "tls", Kind: Object, Absent: "plaintext", Optional: true, Path: "Kafka.TLS", Switch: true,
			Meaning: "encryption. `tls: true` trusts the system's authorities. Tollgate reads the files again for " +
				"every connection",
			Fields: []Field{
				{
					Name: "ca", Kind: File, Absent: "the system's authorities",
					Meaning: "PEM file of the authority that signed the brokers' certificates",
					Path:    "Kafka.TLS.CAFile",
				},
				{
					Name: "cert", Kind: File, Absent: "none is sent", Meaning: "PEM file of the client's certificate",
					Path: "Kafka.TLS.CertFile",
				},
				{
					Name: "key", Kind: File, Absent: "none", Meaning: "PEM file of the client's key",
					Path: "Kafka.TLS.KeyFile",
				},
				{
					Name: "server_name", Kind: Text, Absent: "the broker's host name",
					Meaning: "host name that the brokers' certificates must have", Path: "Kafka.TLS.ServerName",
				},
			},
		},
		{
			Name: "sasl", Kind: Object, Absent: "none", Optional: true, Path: "Kafka.SASL",
			Meaning: "how Tollgate authenticates to the brokers",
			Fields: slices.Concat([]Field{
				{
					Name: "mechanism", Kind: Text, Example: "scram-sha-512", Needed: true,
					OneOf:   []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"},
					Path:    "Kafka.SASL.Mechanism",
					Meaning: "SASL mechanism: with a password, or with a token (`oauthbearer`)",
				},
				{
					Name: "user", Kind: Text, Example: "tollgate", Absent: "needed, except with `token_file`",
					Meaning: "user name; with `token_url`, the client id", Path: "Kafka.SASL.User",
				},
			}, passwordFields("Kafka.SASL."), tokenFields()),
		},
	}
}

// tokenFields returns the fields of oauthbearer.
func tokenFields() []Field {
	return []Field{
		{
			Name: "token_file", Kind: File, Absent: "`token_url`",
			Meaning: "for `oauthbearer`: file with a token that another program keeps valid. Tollgate reads it again " +
				"for every connection",
			Path: "Kafka.SASL.TokenFile",
		},
		{
			Name: "token_url", Kind: Text, Absent: "`token_file`",
			Meaning: "for `oauthbearer`: token endpoint for the client credentials grant, with `user` as client id " +
				"and `password` as client secret. Errors do not show its query",
			Path: "Kafka.SASL.TokenURL",
		},
		{
			Name: "token_ca", Kind: File, Absent: "the system's authorities",
			Meaning: "PEM file of the authority that signed the certificate of `token_url`",
			Path:    "Kafka.SASL.TokenCAFile",
		},
		{
			Name: "audience", Kind: Text, Absent: "none", Meaning: "audience to request at `token_url`",
			Path: "Kafka.SASL.Audience",
		},
		{
			Name: "scopes", Kind: List, Absent: "none", Meaning: "scopes to request at `token_url`",
			Path: "Kafka.SASL.Scopes",
		},
		{
			Name: "extensions", Kind: List, Absent: "none",
			Meaning: "for `oauthbearer`: extensions `name=value` to send to the brokers with the token",
			Path:    "Kafka.SASL.Extensions",
		},
	}
}

// passwordFields returns the three fields that can give a password; one of them is used.
func passwordFields(in string) []Field {
	return []Field{
		{
			Name: "password", Kind: Text, Absent: "`password_env` or `password_file`",
			Meaning: "the password itself. Prefer `password_file` or `password_env`", Path: in + "Password",
		},
		{
			Name: "password_env", Kind: Text, Absent: "",
			Meaning: "environment variable with the password. Tollgate drops a line end after it",
		},
		{
			Name: "password_file", Kind: File, Absent: "",
			Meaning: "file with the password. Tollgate reads it again for every connection and drops a line end " +
				"after the password",
			Path: in + "PasswordFile",
		},
	}
}

// registryFields returns the fields of the registry in this part of deployment.Config, whose
// address may be changed as change says.
func registryFields(in, address string, change Change) []Field {
	return append([]Field{
		{
			Name: "url", Kind: Text, Example: `"https://registry:8081"`, Needed: true, Change: change, Meaning: address,
			Path: in + "URL",
		},
		{Name: "user", Kind: Text, Absent: "no authentication", Meaning: "user name", Path: in + "User"},
		{
			Name: "ca", Kind: File, Absent: "the system's authorities",
			Meaning: "PEM file of the authority that signed the registry's certificate", Path: in + "CAFile",
		},
	}, passwordFields(in)...)
}

func eventsFields() []Field {
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
	return []Field{
		{
			Name: "topic", Kind: Text, Example: "visits", Needed: true, Change: never, Path: "Events.Topic",
			Meaning: "topic with the events. Tollgate only reads it",
		},
		{
			Name: "format", Kind: Text, Example: example, Needed: true, OneOf: event.Names(event.Encoding.Known),
			Change: never, Path: "Events.Format.Format",
			Meaning: "format of the records. " + strings.Join(records, "; "),
		},
		{
			Name: "schema", Kind: File, Absent: "`registry`", Change: byFields, Path: "Events.Format.Schema",
			Meaning: "for " + schemas + ": `" + file + "` file with the schema that producers write events with",
			Apart:   true,
		},
		{
			Name: "registry", Kind: Object, Absent: "none", Optional: true, Change: never, Path: "Events.Registry",
			Meaning: "for " + schemas + ": schema registry with Confluent's API. Every record then begins with the " +
				"id of a schema of this registry",
			Fields: registryFields("Events.Registry.", "address of the registry, `https://…`. Use a name that you "+
				"can move to another machine. You may change http to https at the same port",
				never),
		},
		{
			Name: "accept_size_retention", Kind: Boolean, Default: "false", Path: "Events.AcceptSizeRetention",
			Meaning: "`true` accepts an events topic that deletes records by size (`retention.bytes`). Then make " +
				"sure that it keeps records for days: a run refuses to start if records that it needs are gone",
		},
		{
			Name: "columns", Kind: List, Absent: "needed for " + rows, Change: byFields, Path: "Events.Format.Columns",
			Meaning: "for " + rows + ": names of the columns, in order",
		},
		{
			Name: "fields", Kind: Object, Needed: true,
			Meaning: "which field of a record holds what. Separate the parts of a path into nested records by " +
				"dots",
			Fields: []Field{
				{
					Name: "user", Kind: Text, Example: "user", Needed: true, Change: byFields,
					Path:    "Events.Format.User",
					Meaning: "field with the user id: 1 to 1024 bytes, different for every person",
				},
				{
					Name: "key", Kind: List, Single: true, Absent: "all events have the empty key", Change: byFields,
					Path: "Events.Format.Key",
					Meaning: "the field that is the key, at most 512 bytes of UTF-8; or up to four fields, " +
						"`[country, page]`, whose values become [one key](events.md#keys-of-several-fields); in Go, " +
						"`Events.Format.MoreKeys` has the fields after the first",
					Apart: true,
				},
				{
					Name: "time", Kind: List, Single: true, Example: "at", Needed: true, Change: byFields,
					Path: "Events.Format.Time",
					Meaning: "field with the time of the event; or up to four fields, `[date, time]`, whose texts " +
						"are read [as one](events.md#times); in Go, `Events.Format.MoreTimes` has the fields after " +
						"the first. With `privacy.period` you can never change it",
					Apart: true,
				},
				{
					Name: "value", Kind: Text,
					Absent: "none; needed for sums, means, variances, standard deviations, quantiles and histograms",
					Change: byFields, Path: "Events.Format.Value",
					Meaning: "field with the number that these kinds read: an integer, or any number if " +
						"`events.decimals` is set. Every record must have it, unless `events.no_value` says otherwise",
				},
			},
		},
		{
			Name: "decimals", Kind: Integer, Example: "2", Absent: "values are integers",
			In: within(1, event.MaxDecimals), Change: byFields, Path: "Events.Format.Decimals",
			Meaning: "[values with decimals](events.md#values): how many decimals to keep. With 2, 12.345 is 1235 " +
				"hundredths, and bounds, edges and released values are in hundredths",
		},
		{
			Name: "decimal_comma", Kind: Boolean, Default: "false", Change: byFields,
			Path:    "Events.Format.DecimalComma",
			Meaning: "values in columns and strings have a decimal comma: 12,5 or 1.234,56",
		},
		{
			Name: "no_value", Kind: Text, Example: event.NoValueSkip, Absent: "such a record becomes a dead letter",
			Change: byFields, OneOf: []string{event.NoValueSkip, event.NoValueBroken}, Path: "Events.Format.NoValue",
			Meaning: "`skip` leaves out records whose value is absent, null or empty; with `broken` they are dead " +
				"letters",
		},
		{
			Name: "no_user", Kind: Text, Example: event.NoUserEach, Absent: "such a record becomes a dead letter",
			Change: never, OneOf: []string{event.NoUserEach}, Path: "Events.Format.NoUser",
			Meaning: "`each` makes every record whose user field is absent, null or empty a user of its own: a " +
				"person with several such records is protected [for each of them " +
				"only](events.md#records-without-a-user)",
		},
		{
			Name: "time_unit", Kind: Text, Example: "rfc3339",
			Absent: "needed, except for " + schemas + " fields with a logical type", Change: newName,
			OneOf: event.TimeUnits(), Path: "Events.Format.TimeUnit",
			Meaning: "unit of the time field: [numbers](events.md#times), such as `s` or `ms` since 1970, RFC 3339, " +
				"or `text` in a usual layout or in `time_layout`; years 1 to 9999. With `privacy.period` you can " +
				"never change it",
		},
		{
			Name: "time_layout", Kind: Text, Example: `"%d.%m.%Y %H:%M:%S"`, Absent: "the usual layouts",
			Change: newName, Path: "Events.Format.TimeLayout",
			Meaning: "for `time_unit: text`: layout of times, as strptime has it. With `privacy.period` you can " +
				"never change it",
		},
		{
			Name: "time_zone", Kind: Text, Example: "Europe/Zurich", Absent: "UTC", Change: newName,
			Path: "Events.Format.TimeZone",
			Meaning: "for `time_unit: text`: zone of times that do not say their own. With `privacy.period` you can " +
				"never change it",
		},
		{
			Name: "max_record_bytes", Kind: Integer, Unit: "bytes", Default: "1048576", In: within(1, 1<<30),
			Change: byChange, Path: "Events.Format.MaxRecordBytes",
			Meaning: "longest record that is read. Longer ones become dead letters of class `oversized`",
		},
	}
}
