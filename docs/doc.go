// Package docs embeds the documents that programs serve.
package docs

import _ "embed"

// OpenAPI describes the HTTP interface of tollgate serve. Read-only.
//
//go:embed openapi.yaml
var OpenAPI []byte
