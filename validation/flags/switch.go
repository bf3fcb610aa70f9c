package flags

import (
	"fmt"
	"strings"
)

// Switch is a boolean flag that an environment variable may set, too, in any common spelling of true and false.
type Switch string

// String returns the value as it was set.
func (s *Switch) String() string { return string(*s) }

// Set accepts any value. On checks it later, so that all mistakes are reported together.
func (s *Switch) Set(value string) error {
	*s = Switch(value)
	return nil
}

// IsBoolFlag allows a flag without a value, such as --predict.
func (s *Switch) IsBoolFlag() bool { return true }

// On parses the value. Name is the flag's name for the error message.
func (s Switch) On(name string) (bool, error) {
	switch strings.ToLower(string(s)) {
	case "1", "true", "t", "yes", "y", "on":
		return true, nil
	case "", "0", "false", "f", "no", "n", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s %q is neither true nor false: write one of them", name, string(s))
}

// Yes returns the value of a switch that On has accepted.
func (s Switch) Yes() bool {
	on, err := s.On("")
	return on && err == nil
}
