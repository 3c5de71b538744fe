package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

var march = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func options(path string) FileOptions {
	return FileOptions{
		Path: path, Format: event.Format{Format: event.CSV, User: "user", Key: "page", Time: "when",
			TimeUnit: "rfc3339"}, Header: true,
		Window: time.Hour,
	}
}

func open(t testing.TB, opt FileOptions) *File {
	t.Helper()
	f, err := OpenFile(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func messages(t testing.TB, s Source) []kafkalog.Message {
	t.Helper()
	var out []kafkalog.Message
	if err := s.Each(func(m kafkalog.Message) error { out = append(out, m); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileBecomesMessagesInOrderOfTime(t *testing.T) {
	f := open(t, options(write(t, "user,page,when\r\n"+
		"u1,\"a\r\nb\",2025-03-03T02:10:00Z\r\n"+
		"u2,a,yesterday\r\n"+
		"u3,b,2025-03-03T00:20:00Z\r\n"+
		",b,2025-03-03T05:00:00Z\r\n")))
	type message struct {
		Stamp kafkalog.Stamp
		Value string
	}
	var got []message
	for _, m := range messages(t, f) {
		got = append(got, message{m.Timestamp, string(m.Value)})
	}
	early := kafkalog.At(march.Add(20 * time.Minute).UnixMilli())
	late := kafkalog.At(march.Add(130 * time.Minute).UnixMilli())
	want := []message{
		{early, "u3,b,2025-03-03T00:20:00Z"},
		{early, ",b,2025-03-03T05:00:00Z"}, // no user: broken, its time is not believed
		{late, "u1,\"a\r\nb\",2025-03-03T02:10:00Z"},
		{late, "u2,a,yesterday"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(kafkalog.Stamp{})); diff != "" {
		t.Errorf("messages differ (-want +got):\n%s", diff)
	}
	from, to := f.Range()
	if !from.Equal(march) || !to.Equal(march.Add(3*time.Hour)) {
		t.Errorf("range %v to %v", from, to)
	}
	if got := f.Faults().ByClass(); got["bad_timestamp"] != 1 || got["empty_user"] != 1 || len(got) != 2 {
		t.Errorf("unreadable %v", got)
	}
}

func TestRange(t *testing.T) {
	data := "user,page,when\nu,a,2025-03-03T02:00:00Z\nu,a,2025-03-03T03:59:59.999Z\n"
	for _, tc := range []struct {
		name, text       string
		from, to         time.Time
		wantFrom, wantTo time.Time
	}{
		{"from the data", data, time.Time{}, time.Time{}, march.Add(2 * time.Hour), march.Add(4 * time.Hour)},
		{"as given", data, march, march.Add(24 * time.Hour), march, march.Add(24 * time.Hour)},
		{"start given", data, march, time.Time{}, march, march.Add(4 * time.Hour)},
		{"end given", data, time.Time{}, march.Add(24 * time.Hour), march.Add(2 * time.Hour),
			march.Add(24 * time.Hour)},
		{"start after the data", data, march.Add(24 * time.Hour), time.Time{}, march.Add(24 * time.Hour),
			march.Add(25 * time.Hour)},
		{"no events", "user,page,when\nx\n", time.Time{}, time.Time{}, time.Time{}, time.Time{}},
		{"no events, start given", "user,page,when\n", march, time.Time{}, time.Time{}, time.Time{}},
		{"no events, both given", "", march, march.Add(time.Hour), march, march.Add(time.Hour)},
		{
			"before 1970", "user,page,when\nu,a,1960-01-01T00:00:00Z\nu,a,1970-01-01T00:30:00Z\n", time.Time{},
			time.Time{},
			time.Unix(0, 0), time.Unix(3600, 0),
		},
		{"only before 1970", "user,page,when\nu,a,1960-01-01T00:00:00Z\n", time.Time{}, time.Time{}, time.Unix(0, 0),
			time.Unix(3600, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opt := options(write(t, tc.text))
			opt.From, opt.To = tc.from, tc.to
			from, to := open(t, opt).Range()
			if !from.Equal(tc.wantFrom) || !to.Equal(tc.wantTo) {
				t.Errorf("got %v to %v, want %v to %v", from, to, tc.wantFrom, tc.wantTo)
			}
		})
	}
}

func TestEarlyEventsKeepTheirTime(t *testing.T) {
	f := open(t, options(write(t, "user,page,when\nu,a,0001-01-01T00:00:00Z\nu,a,1970-01-01T00:00:00Z\n")))
	if got := messages(t, f); len(got) != 2 || got[0].Timestamp != kafkalog.At(-62135596800000) ||
		got[1].Timestamp != kafkalog.At(0) {
		t.Errorf("got %v", got)
	}
}

func TestOversizedRecordsAreCut(t *testing.T) {
	f := open(t, options(write(t, "user,page,when\nu,a,2025-03-03T02:00:00Z\nu,"+strings.Repeat("x", 2_000_000)+
		",2025-03-03T02:00:00Z\n")))
	got := messages(t, f)
	if len(got) != 2 || len(got[1].Value) != MaxRecordBytes+1 || got[1].Timestamp != got[0].Timestamp {
		t.Fatalf("got %d messages", len(got))
	}
	if f.Faults().ByClass()["oversized"] != 1 {
		t.Errorf("unreadable %v", f.Faults().ByClass())
	}
}
