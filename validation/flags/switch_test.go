package flags

import (
	"flag"
	"testing"
)

func TestSwitchAcceptsWordsForYesAndNo(t *testing.T) {
	for name, tc := range map[string]struct {
		environment string
		args        []string
		yes, good   bool
	}{
		"by default":                           {"", nil, false, true},
		"a true variable":                      {"YES", nil, true, true},
		"a false variable":                     {"Off", nil, false, true},
		"a flag without a value":               {"", []string{"--dry-run"}, true, true},
		"a flag overrides a variable":          {"1", []string{"--dry-run=n"}, false, true},
		"an invalid variable":                  {"maybe", nil, false, false},
		"a flag overrides an invalid variable": {"maybe", []string{"--dry-run=t"}, true, true},
		"a blank":                              {" true", nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Switch(tc.environment)
			set := flag.NewFlagSet("", flag.ContinueOnError)
			set.Var(&s, "dry-run", "")
			if err := set.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			on, err := s.On("--dry-run")
			if on != tc.yes || s.Yes() != tc.yes || (err == nil) != tc.good {
				t.Errorf("%q: on %v, yes %v, %v", s, on, s.Yes(), err)
			}
		})
	}
}
