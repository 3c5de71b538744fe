package sample

import (
	"slices"
	"testing"
	"time"
)

func TestWindowsAreInTheOrderOfUsersAndKeys(t *testing.T) {
	w := NewWindows(time.Hour, 0, 1, [][]Cell{{{User: 2, Key: 1, Events: 5}, {User: 0, Key: 3, Events: 1}, {User: 0, Key: 0, Events: 7}}, nil, {{User: 1, Key: 1, Events: 1}}})
	if w.Len() != 3 || w.Users != 3 || w.Keys != 4 {
		t.Errorf("%d windows, %d users, %d keys: want 3, 3, 4", w.Len(), w.Users, w.Keys)
	}
	for i, want := range [][]Cell{{{User: 0, Key: 0, Events: 7}, {User: 0, Key: 3, Events: 1}, {User: 2, Key: 1, Events: 5}}, {}, {{User: 1, Key: 1, Events: 1}}} {
		if got := w.At(i); !slices.Equal(got, want) {
			t.Errorf("window %d has %v, want %v", i, got, want)
		}
	}
	for i, want := range [][]Cell{{{User: 0, Key: 0, Events: 8}, {User: 2, Key: 0, Events: 5}}, {}, {{User: 1, Key: 0, Events: 1}}} {
		if got := w.Together().At(i); !slices.Equal(got, want) {
			t.Errorf("window %d has %v together, want %v", i, got, want)
		}
	}
}
