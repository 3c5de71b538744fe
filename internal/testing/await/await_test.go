package await

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder takes what a failing test would say.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	panic(r)
}

func TestItGoesOnAsSoonAsTheConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		That(t, time.Minute, "a second passes", func() bool { return time.Since(began) >= time.Second })
		if took := time.Since(began); took > time.Second+pause {
			t.Errorf("it took %v", took)
		}
	})
}

func TestItSaysWhatDidNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := &recorder{}, time.Now()
		func() {
			defer func() { _ = recover() }()
			That(r, time.Minute, "the broker is asked", func() bool { return false })
		}()
		if took := time.Since(began); !strings.Contains(r.said, "the broker is asked") || took < time.Minute || took > time.Minute+2*pause {
			t.Errorf("after %v: %q", took, r.said)
		}
	})
}
