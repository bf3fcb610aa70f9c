package faults

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/cert"
)

// The users of requests whose user is unknown.
const (
	unknownUser   = "unknown"          // a token without a readable user
	anonymousUser = "system:anonymous" // no token at all
)

// userOf returns the user of a request: the impersonated user, else the name in its token, else the proxy's label. A
// client with the proxy's own token is, without a label, the user of the upstream's credentials.
func (p *Proxy) userOf(r *http.Request, onPass bool) string {
	candidates := []string{r.Header.Get(transport.ImpersonateUserHeader)}
	switch token := bearerToken(r); {
	case onPass:
		candidates = append(candidates, p.upstream.as, p.options.label, p.upstream.user)
	case token != "":
		candidates = append(candidates, tokenUser(token), p.options.label)
	case r.Header.Get("Authorization") == "":
		candidates = append(candidates, anonymousUser)
	default:
		candidates = append(candidates, p.options.label)
	}
	for _, user := range candidates {
		if user != "" {
			return user
		}
	}
	return unknownUser
}

func bearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// tokenUser returns the subject of a JWT. It verifies nothing: the API server does, and the proxy only counts.
func tokenUser(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Subject
}

// configUser returns the user of a configuration's credentials, or "".
func configUser(config *rest.Config) string {
	if user := certificateUser(config); user != "" {
		return user
	}
	if user := tokenUser(config.BearerToken); user != "" {
		return user
	}
	return config.Username
}

func certificateUser(config *rest.Config) string {
	loaded := rest.CopyConfig(config)
	if rest.LoadTLSFiles(loaded) != nil || len(loaded.CertData) == 0 {
		return ""
	}
	certificates, err := cert.ParseCertsPEM(loaded.CertData)
	if err != nil {
		return ""
	}
	return certificates[0].Subject.CommonName
}
