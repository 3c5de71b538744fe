package spelling

import (
	"strings"
	"testing"
)

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"user_id", "page", "Time", "at", ""}
	for name, want := range map[string]string{
		"userid": "user_id", "User_ID": "user_id", "user_di": "user_id", "pgae": "page", "time": "Time", "tiem": "Time",
		"att": "at", "x": "", "customer": "", "": "", "xyz": "",
	} {
		if got := Nearest(names, name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := Nearest(nil, "a"); got != "" {
		t.Errorf("of no names: %q", got)
	}
}

func TestAListEndsAsASentenceHasIt(t *testing.T) {
	for names, want := range map[string]string{"": "", "a": "a", "a b": "a or b", "a b c": "a, b or c"} {
		if got := List(strings.Fields(names), " or "); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}
