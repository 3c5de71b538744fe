package flink

import (
	"encoding/binary"
	"math/bits"
)

// Spread returns a function for pipeline.Workers.Spread. The function generates keys that Flink
// distributes evenly over its tasks. With consecutive numbers instead, one task in three would be
// idle and another would have twice its share. If another version of Beam or Flink distributes keys
// differently, these keys are no worse than consecutive numbers.
func Spread(parallelism int) func(n int) []int {
	return func(n int) []int {
		keys, next := make([]int, n), make([]int, parallelism) // next[t] is the next candidate key for task t
		for i := range keys {
			task := i % parallelism
			for taskOf(next[task], parallelism) != task {
				next[task]++
			}
			keys[i] = next[task]
			next[task]++
		}
		return keys
	}
}

// taskOf returns the task to which Flink assigns a key that is a Go int. Flink hashes Beam's varint
// with its length (FlinkKey), hashes that hash again (MathUtils.murmurHash), reduces the result
// modulo the maximum parallelism (KeyGroupRangeAssignment), and divides the range among the tasks.
func taskOf(key, parallelism int) int {
	encoded := binary.AppendVarint(nil, int64(key))
	maxParallelism := max(128, 1<<bits.Len(uint(parallelism+parallelism/2-1)))
	return mix(murmur3(append([]byte{byte(len(encoded))}, encoded...))) % maxParallelism * parallelism / maxParallelism
}

// murmur3 returns the first 32 bits of MurmurHash3_x64_128 with seed 0, of at most 8 bytes.
func murmur3(b []byte) uint32 {
	var tail [8]byte
	copy(tail[:], b)
	h1 := bits.RotateLeft64(binary.LittleEndian.Uint64(tail[:])*0x87c37b91114253d5, 31) * 0x4cf5ad432745937f
	h1 ^= uint64(len(b))
	h2 := uint64(len(b))
	h1 += h2
	h2 += h1
	return uint32(finish(h1) + finish(h2))
}

func finish(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// mix computes Flink's MathUtils.murmurHash of one word.
func mix(h uint32) int {
	h = bits.RotateLeft32(bits.RotateLeft32(h*0xcc9e2d51, 15)*0x1b873593, 13)*5 + 0xe6546b64
	h ^= 4
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	signed := int64(int32(h ^ h>>16))
	return int(max(signed, -signed))
}
