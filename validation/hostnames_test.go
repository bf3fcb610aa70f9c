package validation

import (
	"testing"
)

func TestHostnamesAllows(t *testing.T) {
	for name, c := range map[string]struct {
		pattern, hostname string
		want              bool
	}{
		"a star matches one label":                       {"*.example.com", "app.example.com", true},
		"a star doesn't match a dot":                     {"*.example.com", "a.b.example.com", false},
		"a star doesn't match an empty label":            {"*.example.com", "example.com", false},
		"a lone star matches all":                        {"*", "a.b.c.example.com", true},
		"a lone star matches wildcards":                  {"*", "*.example.com", true},
		"the namespace replaces its placeholder":         {"*.{namespace}.example.com", "app.team.example.com", true},
		"another namespace doesn't match":                {"*.{namespace}.example.com", "app.other.example.com", false},
		"a wildcard in the own domain":                   {"*.{namespace}.example.com", "*.team.example.com", true},
		"a wildcard in another namespace's domain":       {"*.{namespace}.example.com", "*.other.example.com", false},
		"a wildcard in a shared domain":                  {"*.example.com", "*.example.com", false},
		"a wildcard above the own domain":                {"*.*.{namespace}.example.com", "*.team.example.com", false},
		"a wildcard one level below the own domain":      {"*.*.{namespace}.example.com", "*.a.team.example.com", true},
		"a wildcard isn't a part of a label":             {"app-*.example.com", "*.example.com", false},
		"a namespace inside a label":                     {"{namespace}-*.example.com", "team-web.example.com", true},
		"another namespace that begins like the own one": {"{namespace}-*.example.com", "teams-web.example.com", false},
		"the own namespace with a suffix of another one": {"{namespace}-*.example.com", "team-b-web.example.com", true},
		"a name with a label more than the pattern has":  {"www.example", "www.example.com", false},
		"a name with a label less than the pattern has":  {"www.example.com", "www.example", false},
		"an exact name":                                  {"www.example.com", "www.example.com", true},
		"a name with the pattern as its end":             {"www.example.com", "evil-www.example.com", false},
		"a dot in the pattern matches only a dot":        {"www.example.com", "wwwxexample.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			n, found := noteOf(c.pattern)
			allowed := parseHostnamePatterns(n)
			if len(found.Problems) > 0 {
				t.Fatal(found.Problems)
			}
			if got := allowed.In("team").Allows(c.hostname); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
