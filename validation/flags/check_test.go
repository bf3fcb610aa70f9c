package flags

import (
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		good  bool
	}{
		"everywhere":                       {":9443", true},
		"an IPv4 address":                  {"127.0.0.1:9443", true},
		"a name":                           {"localhost:9443", true},
		"an IPv6 address":                  {"[::1]:9443", true},
		"an IPv6 address with a zone":      {"[fe80::1%eth0]:9443", true},
		"any port":                         {":0", true},
		"the last port":                    {":65535", true},
		"a port above 65535":               {":65536", false},
		"a port by name":                   {":http", false},
		"a signed port":                    {":+80", false},
		"no port":                          {"localhost", false},
		"an empty port":                    {"localhost:", false},
		"an IPv6 address without brackets": {"::1:9443", false},
		"an unclosed bracket":              {"[::1:9443", false},
		"a name in brackets":               {"[localhost]:9443", false},
		"text after the brackets":          {"[::1]x:9443", false},
		"nothing":                          {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := Address("--address", tc.value, "9443")
			if tc.good {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.HasSuffix(err.Error(), "is not host:port: write :9443, or 127.0.0.1:9443") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLevel(t *testing.T) {
	for name, tc := range map[string]struct{ level, debug, want, problem string }{
		"by default":                  {want: "info"},
		"a true variable":             {debug: "True", want: "debug"},
		"a false variable":            {debug: "off", want: "info"},
		"a flag overrides a variable": {level: "warn", debug: "1", want: "warn"},
		"a flag in capitals":          {level: "ERROR", want: "error"},
		"an unknown level": {level: "loud", want: "info",
			problem: `--log-level "loud": write debug, info, warn or error`},
		"a level that hides errors": {level: "fatal", want: "info",
			problem: `--log-level "fatal": write debug, info, warn or error`},
		"perhaps": {debug: "perhaps", want: "info",
			problem: `SVC_LB_MUX_DEBUG "perhaps" is neither true nor false: write one of them, or overrule it with --log-level`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Level(tc.level, tc.debug)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if got != tc.want || problem != tc.problem {
				t.Errorf("got %q, %q; want %q, %q", got, problem, tc.want, tc.problem)
			}
		})
	}
}

func TestMistakeInThePrefixDoesNotHideOneInTheNamespace(t *testing.T) {
	if err := Prefix("--api-prefix", "x.io"); err != nil {
		t.Error(err)
	}
	if err := Namespace("--namespace", "infra"); err != nil {
		t.Error(err)
	}
	for _, err := range []error{Prefix("--api-prefix", "Mux_1"), Namespace("--namespace", "a.b")} {
		if err == nil || !strings.HasPrefix(err.Error(), "--") || strings.Count(err.Error(), "\"") < 2 {
			t.Errorf("got %v, want flag, value and remedy", err)
		}
	}
}
