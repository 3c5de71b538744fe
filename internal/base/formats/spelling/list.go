package spelling

import "strings"

// List joins names as "a, b or c"; last is the separator before the last one: " or ".
func List(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}
