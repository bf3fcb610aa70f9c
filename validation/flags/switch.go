package flags

import (
	"fmt"
	"strings"
)

// Switch is a flag that the environment may set too, in whatever way people write yes and no.
type Switch string

// String returns what was set.
func (s *Switch) String() string { return string(*s) }

// Set takes anything: On judges it, so that all mistakes are told at once.
func (s *Switch) Set(value string) error {
	*s = Switch(value)
	return nil
}

// IsBoolFlag lets --dry-run stand alone.
func (s *Switch) IsBoolFlag() bool { return true }

// On judges what was set; name says where.
func (s Switch) On(name string) (bool, error) {
	switch strings.ToLower(string(s)) {
	case "1", "true", "t", "yes", "y", "on":
		return true, nil
	case "", "0", "false", "f", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s %q is neither true nor false: write one of them", name, string(s))
}

// Yes is what a switch says that was judged before.
func (s Switch) Yes() bool {
	on, err := s.On("")
	return on && err == nil
}
