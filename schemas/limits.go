package schemas

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	MaxUserBytes   = 1024 // maximum length of a user id in an event, in bytes
	MaxKeyBytes    = 512  // maximum length of a key, in bytes
	maxMetricBytes = 200  // maximum length of a metric's name, in bytes
)

var (
	// ErrEmptyUser means that a user id is empty. It is an error because all users without an id
	// would share one account.
	ErrEmptyUser = errors.New("empty user id")
	// ErrUserTooLong means that a user id is longer than MaxUserBytes.
	ErrUserTooLong = fmt.Errorf("user id longer than %d bytes", MaxUserBytes)
	// ErrKeyTooLong means that a key is longer than MaxKeyBytes.
	ErrKeyTooLong = fmt.Errorf("key longer than %d bytes", MaxKeyBytes)
	// ErrMetricName means that a name is not valid for a metric.
	ErrMetricName = fmt.Errorf("a metric's name is 1 to %d bytes of UTF-8 without %q, which separates the parts of a "+
		"count's Kafka key", maxMetricBytes, keySeparator)
	// ErrKeyNotUTF8 means that a key, which is published as text, is not valid UTF-8.
	ErrKeyNotUTF8 = errors.New("key is not valid UTF-8")
)

// ValidateUser checks that a user id has 1 to MaxUserBytes bytes, which may have any values.
func ValidateUser(user []byte) error {
	switch {
	case len(user) == 0:
		return ErrEmptyUser
	case len(user) > MaxUserBytes:
		return ErrUserTooLong
	}
	return nil
}

// ValidateKey checks that a key is valid UTF-8 of at most MaxKeyBytes bytes, or empty.
func ValidateKey(key []byte) error {
	switch {
	case len(key) > MaxKeyBytes:
		return ErrKeyTooLong
	case !utf8.Valid(key):
		return ErrKeyNotUTF8
	}
	return nil
}

// ValidateMetricName checks that a name is 1 to 200 bytes of UTF-8 without '|'. Errors:
// ErrMetricName.
func ValidateMetricName(name string) error {
	if name == "" || len(name) > maxMetricBytes || !utf8.ValidString(name) || strings.Contains(name, keySeparator) {
		return ErrMetricName
	}
	return nil
}
