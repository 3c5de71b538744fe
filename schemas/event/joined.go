package event

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxKeyParts and MaxTimeParts limit the fields of a key and of a time.
const (
	MaxKeyParts  = 4
	MaxTimeParts = 4
)

const keySeparator = '|' // between the parts of a key

// SplitKey returns the parts of an event's key if its Format has MoreKeys. They are separated by |;
// within a part, \| stands for | and \\ for \.
func SplitKey(key string) (parts []string, err error) {
	var part strings.Builder
	for i := 0; i < len(key); i++ {
		switch c := key[i]; c {
		case keySeparator:
			parts = append(parts, part.String())
			part.Reset()
		case '\\':
			if i++; i == len(key) || key[i] != '\\' && key[i] != keySeparator {
				return nil, errors.New("the key does not have parts: a backslash is followed by neither | nor " +
					"another backslash")
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

// joinedKey returns the key of the last record.
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

// joinedTime returns the text of the last record's time. It is nil if a part is missing: the time
// would be read as midnight.
func (d *Decoder) joinedTime() []byte {
	if d.times < 2 {
		return d.raw[fieldTime]
	}
	d.date = append(d.date[:0], d.raw[fieldTime]...)
	for i := range d.times - 1 {
		part := d.raw[fieldMoreTimes+i]
		if len(bytes.TrimSpace(part)) == 0 {
			return nil
		}
		d.date = append(append(d.date, ' '), part...)
	}
	return d.date
}

// checkParts checks a key or a time of several fields.
func checkParts(field string, most int, first string, more []string) error {
	all := append([]string{first}, more...)
	switch {
	case len(more) == 0:
		return nil
	case len(all) > most:
		return badFormat(field, "%d fields, but a %s has at most %d", len(all), field, most)
	case slices.Contains(all, ""):
		return badFormat(field, "the name of a field is empty")
	}
	for i, name := range all {
		if slices.Contains(all[i+1:], name) {
			return badFormat(field, "%q is named twice", name)
		}
	}
	return nil
}

// placeOf returns the places of all n fields of a key or a time; the numbers of the later fields
// begin at more.
func (d *Decoder) placeOf(field, more, n int, registry string) string {
	all := []string{d.records.place(field, registry)}
	for i := range n - 1 {
		all = append(all, d.records.place(more+i, registry))
	}
	if len(all) == 1 {
		return all[0]
	}
	return fmt.Sprintf("%s of %s", fieldNames[field], strings.Join(all, " and "))
}
