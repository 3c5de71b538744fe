package schemas

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Kinds of records on the counts topic, the values of the Kafka header HeaderType.
const (
	HeaderType  = "tollgate-type"
	TypeRelease = "release"
)

// Release is one released count.
type Release struct {
	Turn                   uint64 // at most 2^63−1
	Generation             uint32
	Metric                 string // without '|'
	MetricDigest           [32]byte
	WindowStart, WindowEnd int64 // Unix milliseconds
	Key                    string
	Value                  int64 // in units of 2^-10 counts
	StdDev, Low, High      float64
	Precision              units.Precision // 1/variance
	Confidence             float64
	Met                    bool
	Rungs                  uint32 // 1 to 2^31−1
	NoiseKeyID             string
}

// Count returns the value in the unit of the count: exact while it is below 2^43, else rounded.
func (r *Release) Count() float64 { return math.Ldexp(float64(r.Value), -10) }

func (r *Release) check() string {
	for _, f := range [...]float64{r.StdDev, r.Low, r.High, r.Confidence} {
		if !finite(f) {
			return "a number is not finite"
		}
	}
	switch {
	case r.Turn > math.MaxInt64:
		return "turn out of range"
	case r.Rungs < 1 || r.Rungs > math.MaxInt32:
		return "rungs out of range"
	case len(r.Key) > MaxKeyBytes || !utf8.ValidString(r.Key):
		return "key too long or not UTF-8"
	case len(r.Metric) > maxTextBytes || !utf8.ValidString(r.Metric) || strings.Contains(r.Metric, keySeparator):
		return "metric too long, not UTF-8, or with a " + keySeparator
	case len(r.NoiseKeyID) > maxTextBytes || !utf8.ValidString(r.NoiseKeyID):
		return "noise key id too long or not UTF-8"
	}
	return ""
}

// EncodeRelease encodes a release as a value of the counts topic. The bytes are a function of the
// arguments alone: a turn that is redone by a later version of the program gives the same. Errors:
// ErrInvalid (an impossible encoding, numbers not finite, no rung, a text too long or not UTF-8).
func EncodeRelease(enc CountsEncoding, r Release) ([]byte, error) {
	if what := enc.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	if what := r.check(); what != "" {
		return nil, invalid(KindRelease, what)
	}
	return r.append(make([]byte, 0, 512), enc)
}

func (r *Release) append(dst []byte, enc CountsEncoding) ([]byte, error) {
	switch enc.Format {
	case CountsJSON:
		return r.appendJSON(dst), nil
	default:
		return r.appendAvro(append(dst, registryPrefix(enc.SchemaID)...))
	}
}

// DecodeRelease is the inverse of EncodeRelease in every encoding, which it recognises by the first
// bytes. It accepts only bytes that EncodeRelease produces. Errors: ErrMalformed; ErrVersion if a
// JSON object has other fields.
func DecodeRelease(b []byte) (Release, error) {
	var r Release
	var enc CountsEncoding
	var err error
	switch {
	case len(b) > 0 && b[0] == '{':
		enc.Format = CountsJSON
		r, err = decodeReleaseJSON(b)
	case len(b) > 0 && b[0] == registryMagic:
		r, enc, err = decodeReleaseRegistry(b)
	default:
		err = malformed(KindRelease, "it begins as no format of counts")
	}
	if err != nil {
		return Release{}, err
	}
	if what := r.check(); what != "" {
		return Release{}, malformed(KindRelease, what)
	}
	// One release has one encoding, so that whatever follows from another field, such as value from
	// value_1024ths, need not be looked at.
	if again, err := r.append(make([]byte, 0, len(b)), enc); err != nil || !bytes.Equal(again, b) {
		return Release{}, malformed(KindRelease,
			"fields that contradict each other, or are not in the form in which this program writes them")
	}
	return r, nil
}

// derived are the fields that hold a part of a release in another form.
type derived struct{ precisionUnits, digest string }

func (r *Release) derived() derived {
	return derived{r.Precision.Big().String(), hex.EncodeToString(r.MetricDigest[:])}
}

// setDerived is the inverse of derived; "" if the texts are possible.
func (r *Release) setDerived(f derived) string {
	counted, ok := new(big.Int).SetString(f.precisionUnits, 10)
	if !ok || len(f.precisionUnits) > 39 { // 2^128 has 39 digits
		return "precision_units is no integer"
	}
	var err error
	if r.Precision, err = units.PrecisionFromBig(counted); err != nil {
		return "precision_units out of range"
	}
	if len(f.digest) != 64 {
		return "metric_digest of another size"
	}
	if _, err := hex.Decode(r.MetricDigest[:], []byte(f.digest)); err != nil {
		return "metric_digest is not hexadecimal"
	}
	return ""
}
