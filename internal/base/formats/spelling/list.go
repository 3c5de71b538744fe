package spelling

import "strings"

// List joins names as "a, b or c". last is the text before the last name, such as " or ".
func List(names []string, lastSeparator string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	n := len(names) - 1
	return strings.Join(names[:n], ", ") + lastSeparator + names[n]
}
