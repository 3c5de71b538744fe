package settings

import (
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Values of kafka.sasl.mechanism.
const (
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
	SASLOAuthBearer = "oauthbearer"
)

// SASLMechanisms returns the values of kafka.sasl.mechanism.
func SASLMechanisms() []string {
	return []string{SASLPlain, SASLScramSHA256, SASLScramSHA512, SASLOAuthBearer}
}

func kafkaFields() []Field {
	return []Field{
		{Name: "brokers", Path: "Kafka.Brokers", Kind: List, Required: true, Example: `["localhost:9092"]`},
		{Name: "tls", Path: "Kafka.TLS", Kind: Object, Switch: true, Optional: true, Absent: "plaintext",
			Fields: tlsFields()},
		{Name: "sasl", Path: "Kafka.SASL", Kind: Object, Absent: "none", Optional: true, Fields: slices.Concat([]Field{
			{Name: "mechanism", Path: "Kafka.SASL.Mechanism", Kind: Text,
				OneOf: SASLMechanisms(), Required: true, Example: SASLScramSHA512},
			{Name: "user", Path: "Kafka.SASL.User", Kind: Text, Example: "tollgate",
				Absent: "needed, except with `token_file`"},
		}, passwordFields("Kafka.SASL."), tokenFields())},
	}
}

func tlsFields() []Field {
	return []Field{
		{Name: "ca", Path: "Kafka.TLS.CAFile", Kind: File, Absent: "the system's authorities"},
		{Name: "cert", Path: "Kafka.TLS.CertFile", Kind: File, Absent: "none is sent"},
		{Name: "key", Path: "Kafka.TLS.KeyFile", Kind: File, Absent: "none"},
		{Name: "server_name", Path: "Kafka.TLS.ServerName", Kind: Text, Absent: "the broker's host name"},
	}
}

// tokenFields returns the fields of oauthbearer.
func tokenFields() []Field {
	return []Field{
		{Name: "token_file", Path: "Kafka.SASL.TokenFile", Kind: File, Absent: "`token_url`"},
		{Name: "token_url", Path: "Kafka.SASL.TokenURL", Kind: Text, Absent: "`token_file`"},
		{Name: "token_ca", Path: "Kafka.SASL.TokenCAFile", Kind: File, Absent: "the system's authorities"},
		{Name: "audience", Path: "Kafka.SASL.Audience", Kind: Text, Absent: "none"},
		{Name: "scopes", Path: "Kafka.SASL.Scopes", Kind: List, Absent: "none"},
		{Name: "extensions", Path: "Kafka.SASL.Extensions", Kind: List, Absent: "none"},
	}
}

// passwordFields returns the three alternative sources of a password. structPath is the path of the
// struct in deployment.Config that holds them, with a trailing dot.
func passwordFields(structPath string) []Field {
	return []Field{
		{Name: "password", Path: structPath + "Password", Kind: Text, Absent: "`password_env` or `password_file`"},
		{Name: "password_env", Kind: Text},
		{Name: "password_file", Path: structPath + "PasswordFile", Kind: File},
	}
}

// registryFields returns the fields of a registry. structPath is the path of the Registry in
// deployment.Config, with a trailing dot. change applies to the registry's address.
func registryFields(structPath string, change Change) []Field {
	return append([]Field{
		{Name: "url", Path: structPath + "URL", Kind: Text, Required: true, Example: `"https://registry:8081"`,
			Change: change},
		{Name: "user", Path: structPath + "User", Kind: Text, Absent: "no authentication"},
		{Name: "ca", Path: structPath + "CAFile", Kind: File, Absent: "the system's authorities"},
	}, passwordFields(structPath)...)
}

func eventsFields() []Field {
	rows, schemas := event.Listed(event.Encoding.Tabular, " and "), event.Listed(event.Encoding.Schemas, " and ")
	return []Field{
		{Name: "topic", Path: "Events.Topic", Kind: Text, Required: true, Example: "visits", Change: never},
		{Name: "format", Path: "Events.Format.Format", Kind: Text, OneOf: event.Names(event.Encoding.Known),
			Required: true, Example: "jsonl", Change: never},
		{Name: "schema", Path: "Events.Format.Schema", Kind: File, Absent: "`registry`", Converted: true,
			Change: byFields},
		{Name: "registry", Path: "Events.Registry", Kind: Object, Absent: "none", Optional: true, Change: never,
			Fields: registryFields("Events.Registry.", never)},
		{Name: "accept_size_retention", Path: "Events.AcceptSizeRetention", Kind: Boolean, Default: "false"},
		{Name: "columns", Path: "Events.Format.Columns", Kind: List, Absent: "needed for " + rows, Change: byFields},
		{Name: "fields", Kind: Object, Required: true, Fields: []Field{
			{Name: "user", Path: "Events.Format.User", Kind: Text, Required: true, Example: "user", Change: byFields},
			{Name: "key", Path: "Events.Format.Key", Kind: List, Absent: "all events have the empty key", Single: true,
				Converted: true, Change: byFields},
			{Name: "time", Path: "Events.Format.Time", Kind: List, Required: true, Example: "at", Single: true,
				Converted: true, Change: byFields},
			{Name: "value", Path: "Events.Format.Value", Kind: Text,
				Absent: "none; needed for sums, means, variances, standard deviations, quantiles and histograms",
				Change: byFields},
		}},
		{Name: "decimals", Path: "Events.Format.Decimals", Kind: Integer, In: within(1, event.MaxDecimals),
			Example: "2", Absent: "values are integers", Change: byFields},
		{Name: "decimal_comma", Path: "Events.Format.DecimalComma", Kind: Boolean, Default: "false", Change: byFields},
		{Name: "no_value", Path: "Events.Format.NoValue", Kind: Text,
			OneOf: []string{event.NoValueSkip, event.NoValueBroken}, Example: event.NoValueSkip,
			Absent: "such a record becomes a dead letter", Change: byFields},
		{Name: "no_user", Path: "Events.Format.NoUser", Kind: Text, OneOf: []string{event.NoUserEach},
			Example: event.NoUserEach, Absent: "such a record becomes a dead letter", Change: never},
		{Name: "time_unit", Path: "Events.Format.TimeUnit", Kind: Text, OneOf: event.TimeUnits(), Example: "rfc3339",
			Absent: "needed, except for " + schemas + " fields with a logical type", Change: newName},
		{Name: "time_layout", Path: "Events.Format.TimeLayout", Kind: Text, Example: `"%d.%m.%Y %H:%M:%S"`,
			Absent: "the usual layouts", Change: newName},
		{Name: "time_zone", Path: "Events.Format.TimeZone", Kind: Text, Example: "Europe/Zurich", Absent: "UTC",
			Change: newName},
		{Name: "max_record_bytes", Path: "Events.Format.MaxRecordBytes", Kind: Integer, Unit: "bytes",
			In: within(1, 1<<30), Default: "1048576", Change: byChange},
	}
}
