package workload

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Window is the size of all windows.
const Window = time.Hour

// Schema is the Avro schema of the events. It has seven fields, of which decoders use three.
const Schema = `{"type":"record","name":"visit","fields":[
  {"name":"id","type":"long"},{"name":"user","type":"string"},{"name":"agent","type":["null","string"]},
  {"name":"time","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"price","type":"double"},
  {"name":"key","type":"string"},{"name":"paid","type":"boolean"}]}`

// Load is a set of events, which are numbered from 0. All fields of a Load are at least 1.
type Load struct {
	Events  int
	Users   int // if there are fewer events than users, some users have none
	Keys    int // event i has key i mod Keys; each user has one key if Users is a multiple of Keys
	Windows int // consecutive windows with equal numbers of events
}

// Standard returns the load with which the figures in docs/performance.md were measured.
func Standard() Load { return Load{Events: 1_000_000, Users: 100_000, Keys: 20, Windows: 6} }

// Start returns the start of the first window.
func Start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Avro returns the format that AppendAvro writes.
func Avro() event.Format {
	return event.Format{Format: "avro", Schema: Schema, User: "user", Key: "key", Time: "time"}
}

// JSON returns the format that AppendJSON writes.
func JSON() event.Format {
	return event.Format{Format: "jsonl", User: "user", Key: "key", Time: "time", TimeUnit: "ms"}
}

// Key returns the name of key k.
func Key(k int) string { return "key" + strconv.Itoa(k) }

// KeyNames returns the names of all keys.
func (l Load) KeyNames() []string {
	names := make([]string, l.Keys)
	for k := range names {
		names[k] = Key(k)
	}
	return names
}

// Millis returns the time of event i in Unix milliseconds.
func (l Load) Millis(i int) int64 {
	return Start().UnixMilli() + int64(i)*int64(l.Windows)*Window.Milliseconds()/int64(l.Events)
}

// WindowOf returns the number, from 0, of the window that contains a time in Unix milliseconds.
func WindowOf(millis int64) int {
	return int((millis - Start().UnixMilli()) / Window.Milliseconds())
}

func (l Load) appendUser(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, "user"...), int64(i)*7919%int64(l.Users), 10)
}

func (l Load) appendKey(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, "key"...), int64(i%l.Keys), 10)
}

// AppendJSON appends event i as a JSON object. millis is its time in Unix milliseconds.
func (l Load) AppendJSON(dst []byte, i int, millis int64) []byte {
	dst = l.appendUser(append(dst, `{"user":"`...), i)
	dst = l.appendKey(append(dst, `","key":"`...), i)
	dst = strconv.AppendInt(append(dst, `","time":`...), millis, 10)
	return append(dst, '}')
}

// AppendAvro is AppendJSON for an Avro record of Schema.
func (l Load) AppendAvro(dst []byte, i int, millis int64) []byte {
	const agent = "Mozilla/5.0 (X11; Linux)"
	var room [32]byte
	text := func(s []byte) { dst = append(binary.AppendVarint(dst, int64(len(s))), s...) }
	dst = binary.AppendVarint(dst, int64(i))
	text(l.appendUser(room[:0], i))
	dst = append(binary.AppendVarint(append(dst, 2), int64(len(agent))), agent...) // 2: the second branch of the union
	dst = binary.AppendVarint(dst, millis)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(1))
	text(l.appendKey(room[:0], i))
	return append(dst, 1)
}

// Truth returns, by the number of the window, how many events each key has, even if it has none.
func (l Load) Truth() []map[string]int {
	names := l.KeyNames()
	truth := make([]map[string]int, l.Windows)
	for w := range truth {
		truth[w] = make(map[string]int, l.Keys)
		for _, name := range names {
			truth[w][name] = 0
		}
	}
	for i := range l.Events {
		truth[WindowOf(l.Millis(i))][names[i%l.Keys]]++
	}
	return truth
}
