package settings

import "testing"

func TestEveryMeaningIsThatOfAField(t *testing.T) {
	left := meanings()
	var remove func(within string, fields []Field)
	remove = func(within string, fields []Field) {
		for i := range fields {
			delete(left, within+fields[i].Name)
			remove(within+fields[i].Name+".", fields[i].Fields)
		}
	}
	remove("", Table())
	for path, meaning := range left {
		t.Errorf("no field is called %s: %s", path, meaning)
	}
}
