package event

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxKeyParts is how many fields a key can have.
const MaxKeyParts = 4

// keySeparator stands between the parts of a key that has several.
const keySeparator = '|'

var escapesOfKeys = strings.NewReplacer(`\`, `\\`, `|`, `\|`)

// JoinKey returns the key of an event whose Format has several fields for it: the parts with |
// between them. In a part, \| stands for | and \\ for \. Different parts give different keys, and
// SplitKey gives the parts again.
func JoinKey(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escapesOfKeys.Replace(part)
	}
	return strings.Join(escaped, string(keySeparator))
}

// SplitKey returns the parts of a key that JoinKey has made.
func SplitKey(key string) (parts []string, err error) {
	var part strings.Builder
	for i := 0; i < len(key); i++ {
		switch c := key[i]; c {
		case keySeparator:
			parts = append(parts, part.String())
			part.Reset()
		case '\\':
			if i++; i == len(key) || key[i] != '\\' && key[i] != keySeparator {
				return nil, errors.New("the key does not have parts: a backslash stands before neither | nor another backslash")
			}
			part.WriteByte(key[i])
		default:
			part.WriteByte(c)
		}
	}
	return append(parts, part.String()), nil
}

func appendPart(dst, part []byte) []byte {
	for _, c := range part {
		if c == '\\' || c == keySeparator {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}

// joinedKey returns the key of the record that was decoded last.
func (d *Decoder) joinedKey() []byte {
	if d.keys < 2 {
		return d.raw[fieldKey]
	}
	d.label = appendPart(d.label[:0], d.raw[fieldKey])
	for i := range d.keys - 1 {
		d.label = appendPart(append(d.label, keySeparator), d.raw[fieldMoreKeys+i])
	}
	return d.label
}

// checkKeys checks the fields of a key that has several.
func (f Format) checkKeys() error {
	all := append([]string{f.Key}, f.MoreKeys...)
	switch {
	case len(f.MoreKeys) == 0:
		return nil
	case len(all) > MaxKeyParts:
		return badFormat("key", "%d fields: a key has at most %d", len(all), MaxKeyParts)
	case slices.Contains(all, ""):
		return badFormat("key", "the name of a field is empty")
	}
	for i, name := range all {
		if slices.Contains(all[i+1:], name) {
			return badFormat("key", "%q is named twice", name)
		}
	}
	return nil
}

// placeOfKey returns where all fields of the key are found.
func (d *Decoder) placeOfKey(registry string) string {
	all := []string{d.records.place(fieldKey, registry)}
	for i := range d.keys - 1 {
		all = append(all, d.records.place(fieldMoreKeys+i, registry))
	}
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Sprintf("key of %s", strings.Join(all, " and "))
}
