package faults

import (
	"encoding/base64"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

func jwtFor(subject string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"sub":"`+subject+`"}`)) + "." + encode([]byte("x"))
}

func TestWhoMakesARequest(t *testing.T) {
	const account = "system:serviceaccount:mux:reconciler"
	for name, test := range map[string]struct {
		authorization, impersonates string
		onPass                      bool
		label                       string
		upstream                    *rest.Config
		want                        string
	}{
		"the subject of its token":               {authorization: "Bearer " + jwtFor(account), want: account},
		"which a label doesn't hide":             {authorization: "bearer " + jwtFor(account), label: "me", want: account},
		"whom it impersonates comes first":       {authorization: "Bearer " + jwtFor(account), impersonates: "jane", want: "jane"},
		"an opaque token has the label":          {authorization: "Bearer abc", label: "me", want: "me"},
		"or nothing":                             {authorization: "Bearer a.b.c", want: "unknown"},
		"a password has the label":               {authorization: "Basic abc", label: "me", want: "me"},
		"nobody":                                 {want: "system:anonymous"},
		"on the pass, the upstream's":            {onPass: true, upstream: &rest.Config{BearerToken: jwtFor(account)}, want: account},
		"on the pass, a label says more":         {onPass: true, label: "me", upstream: &rest.Config{Username: "admin"}, want: "me"},
		"on the pass, As says what is true":      {onPass: true, label: "me", upstream: &rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "jane"}}, want: "jane"},
		"on the pass, nobody knows the upstream": {onPass: true, want: "unknown"},
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
	f.Add(jwtFor("system:serviceaccount:a:b"))
	f.Add("a.b.c")
	f.Add("..")
	f.Fuzz(func(_ *testing.T, token string) { _ = tokenUser(token) })
}
