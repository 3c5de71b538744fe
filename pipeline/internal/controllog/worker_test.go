package controllog

import (
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// The run in force is known by its host and the time of its first epoch.
func TestAViewKnowsWhereTheRunInForceWorks(t *testing.T) {
	v := NewView(8)
	for i, body := range []schemas.ControlBody{
		&schemas.Run{}, &schemas.Epoch{Host: "a", Began: 1000}, &schemas.Run{}, &schemas.Epoch{Run: 2, Host: "b", Began: 2000},
		&schemas.Epoch{Run: 2, Host: "c", Began: 3000}, &schemas.Epoch{Host: "a", Began: 4000},
	} {
		if err := v.Observe(int64(i), schemas.Control{Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	if want := `the run on host "b" since 1970-01-01 00:00:02 UTC`; v.Worker != want {
		t.Errorf("%q, want %q", v.Worker, want)
	}
}
