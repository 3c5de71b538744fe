package generate

import (
	"fmt"
	"strings"
)

// kind is a way in which a record can be broken.
type kind struct {
	class string // as the pipeline calls it
	rare  bool   // long records: one in twenty of the others
	make  func(c Config, user, page string, at int64) []byte
}

// kinds has one way for every class of broken record.
var kinds = []kind{
	{class: "undecodable", make: func(_ Config, user, page string, at int64) []byte {
		whole := record(user, page, at)
		return whole[:len(whole)*2/3]
	}},
	{class: "missing_field", make: func(_ Config, _, page string, at int64) []byte {
		return fmt.Appendf(nil, `{"page":%q,"ts":%d}`, page, at)
	}},
	{class: "null_field", make: func(_ Config, user, _ string, at int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":null,"ts":%d}`, user, at)
	}},
	{class: "wrong_type", make: func(_ Config, user, page string, at int64) []byte {
		return fmt.Appendf(nil, `{"user":[%q],"page":%q,"ts":%d}`, user, page, at)
	}},
	{class: "bad_timestamp", make: func(_ Config, user, page string, at int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":%q,"ts":%d000000}`, user, page, at)
	}},
	{class: "empty_user", make: func(_ Config, _, page string, at int64) []byte {
		return record("", page, at)
	}},
	{class: "user_too_long", rare: true, make: func(_ Config, user, page string, at int64) []byte {
		return record(strings.Repeat(user, 200), page, at)
	}},
	{class: "key_too_long", rare: true, make: func(_ Config, user, page string, at int64) []byte {
		return record(user, page+strings.Repeat("/x", 300), at)
	}},
	// Half a surrogate pair: JSON can say it, UTF-8 cannot.
	{class: "bad_key", make: func(_ Config, user, page string, at int64) []byte {
		return fmt.Appendf(nil, `{"user":%q,"page":"%s\ud800","ts":%d}`, user, page, at)
	}},
	{class: "oversized", rare: true, make: func(c Config, user, page string, at int64) []byte {
		head := fmt.Sprintf(`{"user":%q,"page":%q,"ts":%d,"note":"`, user, page, at)
		return []byte(head + strings.Repeat("x", c.MaxRecordBytes+1-len(head)-2) + `"}`)
	}},
}
