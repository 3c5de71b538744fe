package advice

import "testing"

// A key that reads as a number would look like one in a sentence.
func TestSentencesQuoteKeysThatReadAsNumbers(t *testing.T) {
	for key, want := range map[string]string{"": "all events", "17": `"17"`, "2025-03": `"2025-03"`, "3.5 %": `"3.5 %"`, "/home": "/home", "17b": "17b", "A1": "A1"} {
		if got := Named(key); got != want {
			t.Errorf("%q is called %s, want %s", key, got, want)
		}
	}
}
