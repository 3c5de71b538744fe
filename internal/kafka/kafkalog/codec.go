package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFrame bounds the memory that a peer can make this process allocate. A fetch asks for at
	// most maxFetchBytes, and a broker may exceed that by one batch.
	maxFrame = 256 << 20
	// frameHeader is size and correlation id.
	frameHeader = 8
)

// setVersion gives req the newest version up to newest, the broker's, that has no flexible header
// (KIP-482): the header of every response is then size and correlation id. Brokers from 2.6 to 4.x
// support these versions (produce 8, fetch 11, metadata 8, …); an older one is asked in its own
// newest version.
func setVersion(req kmsg.Request, newest int16) {
	req.SetVersion(min(newest, req.MaxVersion()))
	for req.IsFlexible() {
		req.SetVersion(req.GetVersion() - 1)
	}
}

// appendRequest appends the frame of a request whose version is set.
func appendRequest(dst []byte, req kmsg.Request, clientID string, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(dst, req, correlation)
}

// decodeResponse decodes the body of the response to req. Byte slices in it belong to body.
func decodeResponse(req kmsg.Request, body []byte) (kmsg.Response, error) {
	res := req.ResponseKind()
	if err := res.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("decoding a response to %s: %w: %w", kmsg.NameForKey(req.Key()), ErrCorrupt, err)
	}
	return res, nil
}

// readFrame reads one length-prefixed response and checks its correlation id. memory returns a
// slice of a length for it.
func readFrame(r io.Reader, correlation int32, memory func(n int) []byte) ([]byte, error) {
	var head [frameHeader]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n >= 4 && looksLikeTLS(head[:]) {
			return nil, errExpectsTLS
		}
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if looksLikeTLS(head[:]) {
		return nil, errExpectsTLS
	}
	if size < 4 || size > maxFrame {
		return nil, fmt.Errorf("%w: this is not a Kafka broker", ErrCorrupt)
	}
	if int32(binary.BigEndian.Uint32(head[4:])) != correlation {
		return nil, fmt.Errorf("%w: it is the answer to another request", ErrCorrupt)
	}
	frame, err := readBody(r, int(size)+4, memory)
	if err != nil {
		return nil, err
	}
	copy(frame, head[:])
	return frame, nil
}

// readBody returns n bytes of which the first frameHeader are left to the caller. Large frames grow
// as their bytes come in, so that a wrong length costs no more memory than was sent.
func readBody(r io.Reader, n int, memory func(n int) []byte) ([]byte, error) {
	const step = 16 << 20
	frame := memory(min(n, step))
	at := frameHeader
	for {
		if _, err := io.ReadFull(r, frame[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		at = len(frame)
		if at == n {
			return frame, nil
		}
		frame = append(frame, make([]byte, min(n-at, step))...)
	}
}

// errExpectsTLS is the error for an answer whose first bytes are a TLS alert.
var errExpectsTLS = errors.New("broker appears to be expecting TLS")

// looksLikeTLS reports whether the first bytes of an answer are a TLS alert record.
func looksLikeTLS(head []byte) bool {
	return head[0] == 0x15 && head[1] == 3 && head[2] <= 4
}
