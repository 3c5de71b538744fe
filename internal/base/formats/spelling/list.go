package spelling

import "strings"

// List writes names as "a, b or c"; last stands before the last one: " or ".
func List(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + last + names[n]
}
