package kafkalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFrame is the maximum size of a response. A fetch requests at most maxFetchBytes, which a
	// broker may exceed by one batch. Decoding a damaged response can take some hundred times its
	// size.
	maxFrame = 256 << 20
	// frameHeader is the length of the size and the correlation id.
	frameHeader = 8
)

// readFrame reads one length-prefixed response into memory(n), a slice of length n. A large frame
// grows as its bytes arrive, so a wrong length costs no more than the bytes that were sent.
func readFrame(r io.Reader, memory func(n int) []byte) ([]byte, error) {
	const step = 16 << 20
	var head [frameHeader]byte
	n, err := io.ReadFull(r, head[:])
	size := binary.BigEndian.Uint32(head[:])
	switch {
	case n >= 4 && head[0] == 0x15 && head[1] == 3 && head[2] <= 4: // an alert record
		return nil, errExpectsTLS
	case err != nil:
		return nil, err
	case size < 4 || size > maxFrame:
		return nil, fmt.Errorf("%w: this is not a Kafka broker", ErrCorrupt)
	}
	total := int(size) + 4
	frame := memory(min(total, step))
	for filled := copy(frame, head[:]); ; filled = len(frame) {
		if len(frame) == filled && filled < total {
			frame = append(frame, make([]byte, min(total-filled, step))...)
		}
		if _, err := io.ReadFull(r, frame[filled:]); errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
		if len(frame) == total {
			return frame, nil
		}
	}
}

var errExpectsTLS = errors.New("broker appears to be expecting TLS")

// decode decodes a response in a version without flexible headers. kmsg limits the length of an
// array by the number of remaining bytes; kafka-go allocates whatever length an array claims. Byte
// slices in res share the memory of body.
func decode(res any, version int16, body []byte) error {
	ok := false
	switch res := res.(type) {
	case *identity:
		ok = res.decode(version, body)
	case kmsg.Response:
		res.SetVersion(version)
		ok = res.ReadFrom(body) == nil
	}
	if !ok {
		return fmt.Errorf("decoding a %T: %w", res, ErrCorrupt)
	}
	return nil
}

// text returns a nullable string of a response, or "" for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
