// Package connect makes a Kafka client from a configuration: addresses, TLS files, SASL mechanisms.
//
// Guarantees: an invalid security setting gives a *deployment.ConfigError that names the field. No
// message contains a password or a private key.
package connect
