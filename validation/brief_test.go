package validation

import (
	"strings"
	"testing"
)

// TestBriefSettings checks that a short setting is unchanged, and that a long setting is cut and says how much is left
// out.
func TestBriefSettings(t *testing.T) {
	lang := language(t)
	k := lang.Keys()
	label := strings.Repeat("long-label.", 9)
	for name, c := range map[string]struct{ key, value, want string }{
		"names": {k.AllowedHostnames, "b.example.com,*.{namespace}.example.com",
			"*.{namespace}.example.com,b.example.com"},
		"all names":        {k.AllowedHostnames, "*", "*"},
		"a long name":      {k.AllowedHostnames, label + "com", `"` + label[:64] + `"... (102 bytes)`},
		"eight namespaces": {k.AllowedNamespaces, "h,g,f,e,d,c,b,Same", "Same,b,c,d,e,f,g,h"},
		"ten namespaces":   {k.AllowedNamespaces, "j,i-*,h,g,f,e,d,c,b,Same", "Same,b,c,d,e,f,g,h and 2 more"},
		"ten patterns": {k.AllowedNamespaces, "j*,i*,h*,g*,f*,e*,d*,c*,b*,Same", "Same,b*,c*,d*,e*,f*,g*,h* and 2 " +
			"more"},
		"two ranges":         {k.ExplicitRange, "9000-9010,80", "9000-9010,80"},
		"nine ranges":        {k.ExplicitRange, "17,15,13,11,9,7,5,3,1", "17,15,13,11,9,7,5,3 and 1 more"},
		"nine adjacent ones": {k.ExplicitRange, "1,2,3,4,5,6,7,8,9", "1-9"},
		"an empty range":     {k.Disabled, "false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			mux, found := lang.ParseMux(bareMux(lang, map[string]string{c.key: c.value}))
			if len(found.Problems) > 0 {
				t.Fatal(found.Problems)
			}
			brief := map[string]string{
				k.AllowedHostnames: mux.Hostnames.Brief(), k.AllowedNamespaces: mux.Namespaces.Brief(),
				k.ExplicitRange: mux.Explicit.Brief(),
				k.Disabled:      mux.Auto.Brief(),
			}
			whole := map[string]string{
				k.AllowedHostnames: mux.Hostnames.String(), k.AllowedNamespaces: mux.Namespaces.String(),
				k.ExplicitRange: mux.Explicit.String(),
				k.Disabled:      mux.Auto.String(),
			}
			if got := brief[c.key]; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if !strings.Contains(c.want, " more") && !strings.Contains(c.want, "bytes") && whole[c.key] != c.want {
				t.Errorf("the whole setting is %s", whole[c.key])
			}
			if entries := strings.Count(c.value, ","); !strings.HasPrefix(c.want, "1-9") &&
				strings.Count(whole[c.key], ",") != entries {
				t.Errorf("the whole setting is %s, want all of %s", whole[c.key], c.value)
			}
		})
	}
}
