// Package atrest checks what every state at rest must keep to, whatever its type: its bytes stay
// what they are, nothing but them is read, and what was spent is never forgotten.
package atrest
