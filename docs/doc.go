// Package docs has those of the documents that programs serve.
package docs

import _ "embed"

// OpenAPI describes what tollgate serve answers. Read-only.
//
//go:embed openapi.yaml
var OpenAPI []byte
