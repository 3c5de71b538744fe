package connect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// The audience and the query of token_url reach the authorization server, and no error shows the
// query.
func TestATokenIsAskedForWithAudienceAndQuery(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.RawQuery != "api=s3cret" || r.PostFormValue("audience") != "kafka" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprint(w, `{"access_token":"abc","token_type":"bearer"}`)
	}))
	defer s.Close()
	settings := deployment.SASL{Mechanism: "oauthbearer", TokenURL: secret.New(s.URL + "/token?api=s3cret"), User: "u",
		Password: secret.New("p"), Audience: "kafka"}
	start := func() (string, error) {
		m, err := mechanism(&settings, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, message, err := m.Start(t.Context())
		return string(message), err
	}
	if message, err := start(); err != nil || !strings.Contains(message, "auth=Bearer abc\x01") {
		t.Errorf("%q, %v", message, err)
	}
	settings.Audience = ""
	_, refused := start()
	s.Close()
	_, gone := start()
	for _, err := range []error{refused, gone} {
		if err == nil || !strings.Contains(err.Error(), s.URL+"/token ") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v does not name the address alone", err)
		}
	}
}
