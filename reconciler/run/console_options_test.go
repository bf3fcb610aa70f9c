package run

import (
	"strings"
	"testing"
)

func TestConsoleAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		env     map[string]string
		edit    func(*ConsoleOptions)
		address string
		wrong   []string // parts of the error, in order; nil if the options are valid
	}{
		"the default is loopback":             {address: "127.0.0.1:8080"},
		"with a token it is any address":      {env: map[string]string{"DEBUG_WEB_AUTH_TOKEN": "x"}, address: ":8080"},
		"with the token under its other name": {env: map[string]string{"AUTH_TOKEN": "x"}, address: ":8080"},
		"another port": {env: map[string]string{"DEBUG_WEB_PORT": "9000"},
			address: "127.0.0.1:9000"},
		"another port, with a token": {env: map[string]string{"DEBUG_WEB_PORT": "9000", "AUTH_TOKEN": "x"},
			address: ":9000"},
		"an invalid port": {env: map[string]string{"DEBUG_WEB_PORT": "web"},
			address: "127.0.0.1:web", wrong: []string{`"127.0.0.1:web"`, ":8080"}},
		"off, with other invalid options": {env: map[string]string{"DEBUG_WEB_ENABLED": "false", "DEBUG_WEB_PORT": "web"},
			address: "127.0.0.1:web"},
		"neither on nor off": {env: map[string]string{"DEBUG_WEB_ENABLED": "maybe"},
			address: "127.0.0.1:8080", wrong: []string{"DEBUG_WEB_ENABLED", `"maybe"`}},
		"an invalid switch for actions": {env: map[string]string{"DEBUG_WEB_ACTIONS_ENABLED": "maybe"},
			address: "127.0.0.1:8080", wrong: []string{"DEBUG_WEB_ACTIONS_ENABLED", `"maybe"`}},
		"any address, without a token": {edit: at(":8080"), address: ":8080",
			wrong: []string{`":8080"`, "DEBUG_WEB_AUTH_TOKEN", "port-forward"}},
		"the pod's address, without a token": {edit: at("10.0.0.1:8080"), address: "10.0.0.1:8080",
			wrong: []string{"10.0.0.1", "DEBUG_WEB_AUTH_TOKEN"}},
		"a name that sounds local, without a token": {edit: at("localhost.example.com:8080"),
			address: "localhost.example.com:8080", wrong: []string{"DEBUG_WEB_AUTH_TOKEN"}},
		"IPv6 loopback":        {edit: at("[::1]:8080"), address: "[::1]:8080"},
		"this machine by name": {edit: at("localhost:8080"), address: "localhost:8080"},
		"tokens that the API server reviews": {env: map[string]string{"DEBUG_WEB_AUTH": "kubernetes"},
			edit: at(":8080"), address: ":8080"},
		"both kinds of token": {env: map[string]string{"DEBUG_WEB_AUTH": "kubernetes", "AUTH_TOKEN": "x"}, address: ":8080",
			wrong: []string{"--console-auth", "DEBUG_WEB_AUTH_TOKEN"}},
		"an unknown kind of token": {env: map[string]string{"DEBUG_WEB_AUTH": "oidc"},
			address: "127.0.0.1:8080", wrong: []string{"--console-auth", `"oidc"`, "kubernetes"}},
		"half a certificate": {edit: func(o *ConsoleOptions) { o.ConsoleCert = "tls.crt" },
			address: "127.0.0.1:8080", wrong: []string{"tls.crt", "give both"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := defaultConsoleOptions(func(name string) string { return tc.env[name] })
			if tc.edit != nil {
				tc.edit(&o)
			}
			if o.ConsoleAddress != tc.address {
				t.Errorf("the address is %q, want %q", o.ConsoleAddress, tc.address)
			}
			err := o.check()
			if err == nil != (len(tc.wrong) == 0) {
				t.Fatalf("the error is %v", err)
			}
			for _, part := range tc.wrong {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q: %v", part, err)
				}
			}
		})
	}
}

func at(address string) func(*ConsoleOptions) {
	return func(o *ConsoleOptions) { o.ConsoleAddress = address }
}
