package connect

import (
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Registry returns a client of a schema registry, without connecting. waiting, unless nil, is
// called once per request that waits because the registry is busy. Errors: *registry.ConfigError.
func Registry(g *deployment.Registry, waiting func(why error)) (*registry.Client, error) {
	return registry.New(registry.Config{URL: g.URL, User: g.User, Password: g.Password, PasswordFile: g.PasswordFile,
		CAFile: g.CAFile, Waiting: waiting})
}
