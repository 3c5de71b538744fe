package schemas

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// The headers that tollgate adds to a dead letter, before the headers of the original record. The
// digests are the hexadecimal SHA-256 of the complete key or value. They are present only if the
// key or value was truncated.
const (
	DeadLetterPrefix    = "tollgate-"
	DeadLetterClass     = DeadLetterPrefix + "class"
	DeadLetterTopic     = DeadLetterPrefix + "topic"
	DeadLetterPartition = DeadLetterPrefix + "partition"
	DeadLetterOffset    = DeadLetterPrefix + "offset"
	DeadLetterTimestamp = DeadLetterPrefix + "timestamp" // of the record, Unix milliseconds
	// DeadLetterLength is the length of the original value in bytes, or "null" for a null value. It
	// is the last header that tollgate adds.
	DeadLetterLength         = DeadLetterPrefix + "length"
	DeadLetterSHA256         = DeadLetterPrefix + "sha256"
	DeadLetterKeyLength      = DeadLetterPrefix + "key-length"
	DeadLetterKeySHA256      = DeadLetterPrefix + "key-sha256"
	DeadLetterHeadersDropped = DeadLetterPrefix + "headers-dropped" // number of original headers omitted
)

// DeadLetterReplayed is the header that marks a replayed record on the events topic. Its value is
// DeadLetterRecord.ReplayMark.
const DeadLetterReplayed = DeadLetterPrefix + "replayed"

// DefaultDeadLetterBytes is the default size limit of a dead letter. Brokers accept it by default.
const DefaultDeadLetterBytes = 1000000

// Origin is the position of a record in Kafka.
type Origin struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp int64 // Unix milliseconds
}

// RecordHeader is a Kafka header.
type RecordHeader struct {
	Key   string
	Value []byte
}

// DeadLetterMessage is a message for the dead-letter topic.
type DeadLetterMessage struct {
	Key, Value []byte
	Headers    []RecordHeader
}

// Upper bounds in bytes on Kafka's framing of a message and of a header.
const (
	messageFraming = 128
	headerFraming  = 10
)

// DeadLetter returns a message that preserves a record that is not an event. The message has the
// record's key and value, headers with the record's position and the class of its fault, and then
// the record's own headers. Key, value, headers and framing together take at most maxBytes (0 means
// DefaultDeadLetterBytes; the minimum is 4096). A key longer than a quarter of maxBytes is
// truncated, as is a value that does not fit; their lengths and digests are recorded. The record's
// headers beyond another quarter are omitted and counted. class must not be longer than the longest
// of event.Classes. The message shares memory with the arguments.
func DeadLetter(origin Origin, class string, key, value []byte, headers []RecordHeader,
	maxBytes int) DeadLetterMessage {
	if maxBytes <= 0 {
		maxBytes = DefaultDeadLetterBytes
	}
	maxBytes = max(maxBytes, 4096)
	length := "null"
	if value != nil {
		length = strconv.Itoa(len(value))
	}
	m := DeadLetterMessage{Key: key, Value: value}
	m.add(DeadLetterClass, class)
	m.add(DeadLetterTopic, origin.Topic)
	m.add(DeadLetterPartition, strconv.Itoa(int(origin.Partition)))
	m.add(DeadLetterOffset, strconv.FormatInt(origin.Offset, 10))
	m.add(DeadLetterTimestamp, strconv.FormatInt(origin.Timestamp, 10))
	if len(key) > maxBytes/4 {
		m.Key = key[:maxBytes/4]
		m.add(DeadLetterKeyLength, strconv.Itoa(len(key)))
		m.add(DeadLetterKeySHA256, hexDigest(key))
	}
	kept, size := 0, 0
	for ; kept < len(headers); kept++ {
		next := headers[kept].size()
		if size+next > maxBytes/4 {
			break
		}
		size += next
	}
	if kept < len(headers) {
		m.add(DeadLetterHeadersDropped, strconv.Itoa(len(headers)-kept))
	}
	last := RecordHeader{Key: DeadLetterLength, Value: []byte(length)}
	cut := RecordHeader{Key: DeadLetterSHA256, Value: make([]byte, 2*sha256.Size)}
	room := maxBytes - messageFraming - len(m.Key) - size - last.size() - cut.size()
	for _, h := range m.Headers {
		room -= h.size()
	}
	if len(value) > room {
		m.Value = value[:max(room, 0)]
		m.add(DeadLetterSHA256, hexDigest(value))
	}
	m.Headers = append(append(m.Headers, last), headers[:kept]...)
	return m
}

// DeadLetterRecord is the original record as preserved in a dead letter.
type DeadLetterRecord struct {
	Origin     Origin
	Class      string
	Key, Value []byte
	Headers    []RecordHeader
	Cut        bool // whether parts of the record are missing
}

// ReplayMark returns the value of the header DeadLetterReplayed.
func (r *DeadLetterRecord) ReplayMark() string {
	return strconv.Itoa(int(r.Origin.Partition)) + "/" + strconv.FormatInt(r.Origin.Offset, 10)
}

// ParseDeadLetter is the inverse of DeadLetter; ok is false for any other message.
func ParseDeadLetter(m DeadLetterMessage) (r DeadLetterRecord, ok bool) {
	end := slices.IndexFunc(m.Headers, func(h RecordHeader) bool { return h.Key == DeadLetterLength })
	if end < 0 {
		return r, false
	}
	values := map[string]string{}
	for _, h := range m.Headers[:end] {
		values[h.Key] = string(h.Value)
	}
	number := func(name string, bits int) int64 {
		n, err := strconv.ParseInt(values[name], 10, bits)
		ok = ok && err == nil
		return n
	}
	ok = values[DeadLetterClass] != ""
	r = DeadLetterRecord{Class: values[DeadLetterClass], Key: m.Key, Headers: m.Headers[end+1:], Origin: Origin{
		Topic: values[DeadLetterTopic], Partition: int32(number(DeadLetterPartition, 32)),
		Offset: number(DeadLetterOffset, 64), Timestamp: number(DeadLetterTimestamp, 64)}}
	if string(m.Headers[end].Value) != "null" {
		r.Value = append([]byte{}, m.Value...)
	}
	for _, cut := range []string{DeadLetterSHA256, DeadLetterKeySHA256, DeadLetterHeadersDropped} {
		r.Cut = r.Cut || values[cut] != ""
	}
	return r, ok
}

func (h RecordHeader) size() int { return len(h.Key) + len(h.Value) + headerFraming }

func (m *DeadLetterMessage) add(key, value string) {
	m.Headers = append(m.Headers, RecordHeader{Key: key, Value: []byte(value)})
}

func hexDigest(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}
