// Package connect makes a Kafka client of a configuration: TLS files, SASL mechanisms, addresses.
//
// Guarantees: an invalid security setting is a *deployment.ConfigError that names the field; no
// text holds a password or a private key.
package connect
