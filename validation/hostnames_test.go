package validation

import (
	"testing"
)

func TestHostnamesAllows(t *testing.T) {
	for name, c := range map[string]struct {
		pattern, hostname string
		want              bool
	}{
		"a star stands for one label":                     {"*.example.com", "app.example.com", true},
		"a star doesn't span a dot":                       {"*.example.com", "a.b.example.com", false},
		"a star is no empty label":                        {"*.example.com", "example.com", false},
		"a lone star stands for all":                      {"*", "a.b.c.example.com", true},
		"a lone star stands for wildcards":                {"*", "*.example.com", true},
		"the namespace is filled in":                      {"*.{namespace}.example.com", "app.team.example.com", true},
		"another's namespace isn't":                       {"*.{namespace}.example.com", "app.other.example.com", false},
		"a wildcard in one's own domain":                  {"*.{namespace}.example.com", "*.team.example.com", true},
		"a wildcard in another's domain":                  {"*.{namespace}.example.com", "*.other.example.com", false},
		"a wildcard in everyone's domain":                 {"*.example.com", "*.example.com", false},
		"a wildcard above one's own domain":               {"*.*.{namespace}.example.com", "*.team.example.com", false},
		"a wildcard one level below one's own":            {"*.*.{namespace}.example.com", "*.a.team.example.com", true},
		"a wildcard is no part of a label":                {"app-*.example.com", "*.example.com", false},
		"a namespace inside a label":                      {"{namespace}-*.example.com", "team-web.example.com", true},
		"another's namespace that begins like one's own":  {"{namespace}-*.example.com", "teams-web.example.com", false},
		"one's own that is the beginning of another's":    {"{namespace}-*.example.com", "team-b-web.example.com", true},
		"a name with a label more than the pattern has":   {"www.example", "www.example.com", false},
		"a name with a label less than the pattern has":   {"www.example.com", "www.example", false},
		"a name as it is":                                 {"www.example.com", "www.example.com", true},
		"a name that ends alike":                          {"www.example.com", "evil-www.example.com", false},
		"a name with a dot where the pattern has another": {"www.example.com", "wwwxexample.com", false},
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
