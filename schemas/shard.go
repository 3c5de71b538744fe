package schemas

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// ShardOf returns the shard of an account, from 0 to shards−1; shards below 1 count as 1. Users are
// spread evenly because account ids are uniform.
func ShardOf(id accounts.ID, shards int) int {
	if shards <= 1 {
		return 0
	}
	return int(binary.BigEndian.Uint64(id[8:]) % uint64(shards))
}

// ReleaseShardOf returns the release shard of a cell, from 0 to shards−1; shards below 1 count as
// 1. Window bounds are in Unix milliseconds.
func ReleaseShardOf(metric string, windowStart, windowEnd int64, key []byte, shards int) int {
	if shards <= 1 {
		return 0
	}
	cell := append(make([]byte, 0, 128), metric...)
	for _, word := range [...]uint64{uint64(len(metric)), uint64(windowStart), uint64(windowEnd)} {
		cell = binary.LittleEndian.AppendUint64(cell, word)
	}
	sum := fnv.New64a()
	_, _ = sum.Write(append(cell, key...))
	h := sum.Sum64()
	// FNV's low bits mix poorly: MurmurHash3's finalizer spreads them before the remainder.
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int(h % uint64(shards))
}
