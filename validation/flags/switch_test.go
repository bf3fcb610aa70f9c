package flags

import (
	"flag"
	"testing"
)

func TestASwitchIsSetInWhateverWayPeopleWriteYesAndNo(t *testing.T) {
	for name, tc := range map[string]struct {
		environment string
		args        []string
		yes, good   bool
	}{
		"nothing is said":                 {"", nil, false, true},
		"the environment says yes":        {"YES", nil, true, true},
		"the environment says no":         {"Off", nil, false, true},
		"the flag stands alone":           {"", []string{"--dry-run"}, true, true},
		"the flag comes before":           {"1", []string{"--dry-run=n"}, false, true},
		"it is neither":                   {"maybe", nil, false, false},
		"the flag mends the environment":  {"maybe", []string{"--dry-run=t"}, true, true},
		"spaces aren't what people write": {" true", nil, false, false},
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
