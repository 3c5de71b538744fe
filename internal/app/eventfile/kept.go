package eventfile

import (
	"crypto/sha256"
	"hash"
)

// kept is the beginning of a text, up to a limit, with the length and the digest of all of it.
type kept struct {
	limit  int
	text   []byte
	length int64
	whole  hash.Hash // of the text; made when the limit is passed
}

func (k *kept) add(b []byte) {
	k.length += int64(len(b))
	if k.whole == nil && len(k.text)+len(b) > k.limit {
		k.whole = sha256.New()
		k.whole.Write(k.text)
	}
	if k.whole != nil {
		k.whole.Write(b)
	}
	k.text = append(k.text, b[:min(k.limit-len(k.text), len(b))]...)
}

func (k *kept) addByte(c byte) {
	if k.whole == nil && len(k.text) < k.limit {
		k.text = append(k.text, c)
		k.length++
		return
	}
	k.add([]byte{c})
}

// digest returns the SHA-256 of the whole text; nil if all of it was kept.
func (k *kept) digest() []byte {
	if k.whole == nil {
		return nil
	}
	return k.whole.Sum(nil)
}
