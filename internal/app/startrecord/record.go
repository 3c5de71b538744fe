package startrecord

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// ErrRecord means that a record cannot be read.
var ErrRecord = errors.New("the record of the deployments that have begun is damaged, or a later version wrote it: " +
	"restore it, or use that version. If only its last line is incomplete, delete that line")

// Path returns the path of the record for a user-hash key. The record lies beside the key. Symbolic
// links are resolved first, so that all names of a key lead to the same record. The record does not
// belong to the noise key, because a deployment can change its noise key.
func Path(userHashFile string) string {
	if file, err := filepath.EvalSymlinks(userHashFile); err == nil {
		userHashFile = file
	}
	return userHashFile + ".deployments"
}

// line is a line of the record, for a deployment that is about to begin or has begun.
type line struct {
	Cluster     string    `json:"cluster"`
	Deployment  string    `json:"deployment"`
	Control     string    `json:"control"`
	Incarnation string    `json:"incarnation"` // in hex
	At          time.Time `json:"at"`
	// Begun is set once HEADER is on control. Nothing is released before that.
	Begun bool `json:"begun"`
	// Asked is set if the operator has requested a second promise.
	Asked bool `json:"second_promise_asked_for,omitempty"`
}

// ErrEmpty means that a record exists but is empty. No command leaves such a file.
var ErrEmpty = errors.New("the record of the deployments that have begun is empty: restore it; if no " +
	"deployment has begun under these keys, delete the file")

// Read reads the record in a file. If there is no file, it returns an empty record.
func Read(path string) (*deployment.Record, error) {
	text, err := contents(path)
	if err != nil {
		return nil, fmt.Errorf("reading which deployments have begun: %w", err)
	}
	if text != nil && len(text) == 0 {
		return nil, fmt.Errorf("reading %s: %w", path, ErrEmpty)
	}
	return Parse(path, text)
}

// Parse parses the text of a record. from is the name of its source.
func Parse(source string, text []byte) (*deployment.Record, error) {
	r := &deployment.Record{From: source}
	if n := len(text); n > 0 && text[n-1] != '\n' && json.Valid(text[bytes.LastIndexByte(text, '\n')+1:]) {
		text = append(text[:n:n], '\n') // the value of an environment variable has no final newline
	}
	err := decode(source, text, func(l line) bool {
		b := deployment.Beginning{Cluster: l.Cluster, Deployment: l.Deployment, Control: l.Control, At: l.At}
		id, err := hex.DecodeString(l.Incarnation)
		if err != nil || len(id) != len(b.Incarnation) || b.Cluster == "" {
			return false
		}
		b.Incarnation = [16]byte(id)
		switch {
		case !l.Begun:
			r.Unfinished = append(r.Unfinished, b)
		case len(r.Begun) == 0 || l.Asked || r.Has(b.Incarnation):
			r.Begun = append(r.Begun, b)
		}
		return true
	})
	return r, err
}

// Line returns a line of the record without the newline. asked is set if the operator has requested
// a second promise.
func Line(b deployment.Beginning, begun, asked bool) (string, error) {
	text, err := json.Marshal(lineOf(b, begun, asked))
	return string(text), err
}

// Add appends a line to the record in a file and syncs it to disk.
func Add(path string, b deployment.Beginning, begun, asked bool) error {
	if err := add(path, lineOf(b, begun, asked)); err != nil {
		return fmt.Errorf("%w (it records which deployments have begun under these keys)", err)
	}
	return nil
}

func lineOf(b deployment.Beginning, begun, asked bool) line {
	return line{
		Cluster: b.Cluster, Deployment: b.Deployment, Control: b.Control,
		Incarnation: hex.EncodeToString(b.Incarnation[:]),
		At:          b.At.UTC().Truncate(time.Second), Begun: begun, Asked: asked,
	}
}
