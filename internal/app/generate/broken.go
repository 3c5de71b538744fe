package generate

import (
	"fmt"
	"strings"
)

// kind is one way to break a record.
type kind struct {
	class string // class of dead letters
	rare  bool   // whether the kind is twenty times rarer than others, because its records are long
	make  func(c Config, user, page string, millis int64) []byte
}

// kinds lists one kind for every class of broken records.
var kinds = []kind{
	{class: "undecodable", make: func(_ Config, user, page string, millis int64) []byte {
		complete := record(user, page, millis)
		return complete[:len(complete)*2/3]
	}},
	{class: "missing_field", make: func(_ Config, _, page string, millis int64) []byte {
		return fmt.Appendf(nil, `{"page":%q,"ts":%d}`, page, millis)
	}},
	{class: "null_field", make: func(_ Config, user, _ string, millis int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":null,"ts":%d}`, user, millis)
	}},
	{class: "wrong_type", make: func(_ Config, user, page string, millis int64) []byte {
		return fmt.Appendf(nil, `{"user":[%q],"page":%q,"ts":%d}`, user, page, millis)
	}},
	{class: "bad_timestamp", make: func(_ Config, user, page string, millis int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d000000}`, user, page, millis)
	}},
	{class: "empty_user", make: func(_ Config, _, page string, millis int64) []byte {
		return record("", page, millis)
	}},
	{class: "user_too_long", rare: true, make: func(_ Config, user, page string, millis int64) []byte {
		return record(strings.Repeat(user, 200), page, millis)
	}},
	{class: "key_too_long", rare: true, make: func(_ Config, user, page string, millis int64) []byte {
		return record(user, page+strings.Repeat("/x", 300), millis)
	}},
	// Half a surrogate pair is valid JSON, but UTF-8 cannot encode it.
	{class: "bad_key", make: func(_ Config, user, page string, millis int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":"%s\ud800","ts":%d}`, user, page, millis)
	}},
	{class: "oversized", rare: true, make: func(c Config, user, page string, millis int64) []byte {
		head := fmt.Sprintf(`{"user":%q,"page":%q,"ts":%d,"note":"`, user, page, millis)
		return []byte(head + strings.Repeat("x", c.MaxRecordBytes+1-len(head)-2) + `"}`)
	}},
}
