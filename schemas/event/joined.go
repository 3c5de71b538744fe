package event

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxKeyParts and MaxTimeParts are the maximum numbers of fields that make up a key and a time.
const (
	MaxKeyParts  = 4
	MaxTimeParts = 4
)

const keySeparator = '|' // between the parts of a key

// SplitKey returns the parts of an event's key, for a Format with MoreKeys. In the key, parts are
// separated by |; within a part, \| stands for | and \\ for \.
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

// joinedKey returns the key of the current record.
func (d *Decoder) joinedKey() []byte {
	if d.keyParts < 2 {
		return d.raw[fieldKey]
	}
	d.keyBuffer = appendPart(d.keyBuffer[:0], d.raw[fieldKey])
	for i := range d.keyParts - 1 {
		d.keyBuffer = appendPart(append(d.keyBuffer, keySeparator), d.raw[fieldMoreKeys+i])
	}
	return d.keyBuffer
}

// joinedTime returns the text of the current record's time. It returns nil if a part is missing,
// because a date without a time of day would be parsed as midnight.
func (d *Decoder) joinedTime() []byte {
	if d.timeParts < 2 {
		return d.raw[fieldTime]
	}
	d.timeBuffer = append(d.timeBuffer[:0], d.raw[fieldTime]...)
	for i := range d.timeParts - 1 {
		part := d.raw[fieldMoreTimes+i]
		if len(bytes.TrimSpace(part)) == 0 {
			return nil
		}
		d.timeBuffer = append(append(d.timeBuffer, ' '), part...)
	}
	return d.timeBuffer
}

// checkParts checks the names of the fields that make up a key or a time.
func checkParts(field string, limit int, first string, more []string) error {
	all := append([]string{first}, more...)
	switch {
	case len(more) == 0:
		return nil
	case len(all) > limit:
		return badFormat(field, "%d fields, but a %s has at most %d", len(all), field, limit)
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

// placeOf returns the places of all n fields of a key or a time. field is the number of the first
// field, and the numbers of the other fields begin at more.
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
