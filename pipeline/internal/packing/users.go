package packing

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Users caches the account ids of users, because hashing a user id costs more than looking it up.
// For a user it needs 30 bytes plus the user id, rounded up to a multiple of 8, and 11 to 21 bytes
// of an index. The memory contains no pointers for the garbage collector to follow, and grows in
// small steps.
//
// The memory is limited, whatever the lengths of the ids. At the limit, new users replace about a
// thousand known ones at a time, chosen at random. If N users recur and there is room for R, the
// cache finds about R in N, and hashes the others again. It does not change results. Nobody can
// choose ids that collide, because a user's position is a hash under a key of this process. A Users
// is not safe for concurrent use.
type Users struct {
	hasher     *schemas.Hasher
	shards     int
	maxBytes   int // maximum memory in bytes
	seed       maphash.Seed
	parts      [userParts]index // by the top bits of the hash: growing one part takes little time
	slots      int              // total number in all parts
	chunks     []chunk
	withMemory int            // number of chunks with memory
	open       int            // index of the chunk for new users
	vacant     []int          // indexes of the chunks without memory
	unnamed    [userName]byte // result of Unnamed
}

const (
	userParts  = 64
	chunkBytes = 1 << 16 // enough for a record of schemas.MaxUserBytes
	chunkUnits = chunkBytes / 8
)

// chunk contains the records of users one after another, each at a multiple of 8 bytes.
type chunk struct {
	bytes []byte // nil: the chunk was dropped
	used  int
}

// User is the record of a user in Users, valid until the next call of Of or Unnamed:
//
//	0  account id
//	16 the use of a buffer in which the user's row was last written, and the shard (16 bits)
//	24 that row
//	28 length of the user id
//	30 user id
//
// The row is stored here because, in most input, a user's events of a turn are close together.
type User []byte

const (
	userUse   = 16
	userRow   = 24
	userBytes = 28
	userName  = 30
)

// NewUsers returns an empty Users that uses at most maxBytes bytes, but at least 64 KiB. hasher
// computes the account ids. shards is the deployment's number of shards.
func NewUsers(hasher *schemas.Hasher, shards, maxBytes int) *Users {
	return &Users{hasher: hasher, shards: shards, maxBytes: maxBytes, seed: maphash.MakeSeed()}
}

// Of returns the user with a user id, which must have passed schemas.ValidateUser.
func (t *Users) Of(id []byte) User {
	h := maphash.Bytes(t.seed, id)
	p := t.part(h)
	if len(p.slots) > 0 { // index.find, inlined, because calling a function for each slot would double the time
		tag, mask := uint32(h), uint32(len(p.slots)-1)
		for slot := tag & mask; p.slots[slot] != 0; slot = (slot + 1) & mask {
			if s := p.slots[slot]; uint32(s>>32) == tag {
				if u := t.user(uint32(s) - 1); string(u.name()) == string(id) {
					return u
				}
			}
		}
	}
	return t.add(h, id)
}

// Unnamed returns the user of a record without a user id. The user is not cached, because no other
// record has the same user.
func (t *Users) Unnamed(partition int32, offset int64) User {
	account := t.hasher.Unnamed(partition, offset)
	copy(t.unnamed[:], account[:])
	binary.LittleEndian.PutUint64(t.unnamed[userUse:], uint64(schemas.ShardOf(account, t.shards)))
	return t.unnamed[:]
}

func (t *Users) part(h uint64) *index { return &t.parts[h>>58] }

func (t *Users) user(position uint32) User {
	return t.chunks[position/chunkUnits].bytes[position%chunkUnits*8:]
}

// bytes returns the number of used bytes.
func (t *Users) bytes() int { return t.withMemory*chunkBytes + t.slots*8 }

func (t *Users) add(h uint64, id []byte) User {
	size := (userName + len(id) + 7) &^ 7
	if len(t.chunks) == 0 || t.chunks[t.open].used+size > chunkBytes {
		t.extend(h)
	}
	c := &t.chunks[t.open]
	u := User(c.bytes[c.used:])
	account := t.hasher.Account(id)
	copy(u, account[:])
	binary.LittleEndian.PutUint64(u[userUse:], uint64(schemas.ShardOf(account, t.shards)))
	binary.LittleEndian.PutUint16(u[userBytes:], uint16(len(id)))
	copy(u[userName:], id)
	p := t.part(h)
	before := len(p.slots)
	p.put(uint32(h), uint32(t.open*chunkUnits+c.used/8))
	c.used += size
	if grown := len(p.slots) - before; grown > 0 {
		t.slots += grown
		t.makeRoom(h, 0, 1)
	}
	return u
}

// extend starts a new chunk. At the memory limit, it reuses the memory of another chunk.
func (t *Users) extend(h uint64) {
	memory := t.makeRoom(h, chunkBytes, 0)
	if memory == nil {
		memory = make([]byte, chunkBytes)
	}
	if n := len(t.vacant); n > 0 {
		t.open, t.vacant = t.vacant[n-1], t.vacant[:n-1]
	} else {
		t.open = len(t.chunks)
		t.chunks = append(t.chunks, chunk{})
	}
	t.chunks[t.open] = chunk{bytes: memory}
	t.withMemory++
}

// makeRoom drops chunks until there is room for more bytes, and returns the memory of the last
// dropped one. h selects the chunks; no user can predict it. The open chunk is dropped last, and at
// least `least` chunks stay.
func (t *Users) makeRoom(h uint64, more, least int) (memory []byte) {
	for t.withMemory > least && t.bytes()+more > t.maxBytes {
		chunk := int(h % uint64(len(t.chunks)))
		for t.chunks[chunk].bytes == nil || chunk == t.open && t.withMemory > 1 {
			chunk = (chunk + 1) % len(t.chunks)
		}
		memory = t.drop(chunk)
		h = h>>17 | h<<47
	}
	return memory
}

// drop removes a chunk's users from the index, and returns the chunk's memory.
func (t *Users) drop(number int) []byte {
	c := &t.chunks[number]
	for from := 0; from < c.used; {
		name := User(c.bytes[from:]).name()
		h := maphash.Bytes(t.seed, name)
		t.part(h).remove(uint32(h), uint32(number*chunkUnits+from/8))
		from += (userName + len(name) + 7) &^ 7
	}
	memory := c.bytes
	poison.Bytes(memory)
	*c = chunk{}
	t.vacant = append(t.vacant, number)
	t.withMemory--
	return memory
}

func (u User) name() []byte {
	return u[userName : userName+int(binary.LittleEndian.Uint16(u[userBytes:]))]
}

// ID returns the user's account id.
func (u User) ID() accounts.ID { return accounts.ID(u[:userUse]) }

// shard returns the account's shard.
func (u User) shard() int { return int(binary.LittleEndian.Uint16(u[userUse:])) }

// row returns the user's last row, and whether this use of a buffer set it. Uses are below 2^48.
func (u User) row(use uint64) (row int32, written bool) {
	return int32(binary.LittleEndian.Uint32(u[userRow:])), binary.LittleEndian.Uint64(u[userUse:])>>16 == use
}

func (u User) setRow(use uint64, row int32) {
	binary.LittleEndian.PutUint64(u[userUse:], use<<16|uint64(u.shard()))
	binary.LittleEndian.PutUint32(u[userRow:], uint32(row))
}
