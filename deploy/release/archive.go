package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// archive maps file names, without a leading slash, to the contents of the files.
type archive map[string][]byte

func blobName(d digest.Digest) string { return "blobs/" + d.Algorithm().String() + "/" + d.Encoded() }

// add adds a blob under its digest and returns its descriptor.
func (a archive) add(media string, data []byte) ocispec.Descriptor {
	sum := sha256.Sum256(data)
	blob := ocispec.Descriptor{MediaType: media, Digest: digest.NewDigestFromBytes(digest.SHA256, sum[:]),
		Size: int64(len(data))}
	a[blobName(blob.Digest)] = data
	return blob
}

func (a archive) addJSON(media string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("encoding %s: %w", media, err)
	}
	return a.add(media, data), nil
}

// pack returns the files as a tar archive: ordered by name, each after its directories, owned by
// root, readable and executable for all, written in 1970.
func pack(files archive) ([]byte, error) {
	tree := fstest.MapFS{}
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: data, Mode: 0o555, ModTime: time.Unix(0, 0)}
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.AddFS(tree), w.Close()); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return b.Bytes(), nil
}
