package faults

import (
	"encoding/base64"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"nowake.ai/svc-lb-mux/internal/testkit/golden"
)

func jwtFor(subject string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"sub":"`+subject+`"}`)) + "." + encode([]byte("x"))
}

func TestUserOfARequest(t *testing.T) {
	const account = "system:serviceaccount:mux:reconciler"
	for name, test := range map[string]struct {
		authorization, impersonates string
		onPass                      bool
		label                       string
		upstream                    *rest.Config
		want                        string
	}{
		"the subject of the token":         {authorization: "Bearer " + jwtFor(account), want: account},
		"a label doesn't hide the subject": {authorization: "bearer " + jwtFor(account), label: "me", want: account},
		"the impersonated user comes first": {authorization: "Bearer " + jwtFor(account), impersonates: "jane",
			want: "jane"},
		"an opaque token has the label": {authorization: "Bearer abc", label: "me", want: "me"},
		"a broken token is unknown":     {authorization: "Bearer a.b.c", want: "unknown"},
		"a password has the label":      {authorization: "Basic abc", label: "me", want: "me"},
		"no credentials":                {want: "system:anonymous"},
		"the proxy's token: the upstream's user": {onPass: true, upstream: &rest.Config{BearerToken: jwtFor(account)},
			want: account},
		"the proxy's token: a label comes first": {onPass: true, label: "me", upstream: &rest.Config{Username: "admin"},
			want: "me"},
		"the proxy's token: As comes before it": {onPass: true, label: "me",
			upstream: &rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "jane"}}, want: "jane"},
		"the proxy's token: no upstream user": {onPass: true, want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.upstream == nil {
				test.upstream = &rest.Config{}
			}
			p := &Proxy{
				options:  options{label: test.label},
				upstream: &upstream{user: configUser(test.upstream), as: test.upstream.Impersonate.UserName},
			}
			r := &http.Request{Header: http.Header{}}
			if test.authorization != "" {
				r.Header.Set("Authorization", test.authorization)
			}
			if test.impersonates != "" {
				r.Header.Set("Impersonate-User", test.impersonates)
			}
			if got := p.userOf(r, test.onPass); got != test.want {
				t.Errorf("user %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzTokenUser(f *testing.F) {
	golden.Seeds(f)
	f.Add(jwtFor("system:serviceaccount:a:b"))
	f.Add("a.b.c")
	f.Add("..")
	f.Fuzz(func(_ *testing.T, token string) { _ = tokenUser(token) })
}
