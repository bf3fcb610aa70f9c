package flags

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

// Prefix judges a prefix of annotations and classes. Any good namespace will do for that, so that a mistake in one doesn't
// hide one in the other.
func Prefix(name, value string) error {
	if _, err := validation.New(value, "default"); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Namespace judges a namespace, whatever the prefix.
func Namespace(name, value string) error {
	if _, err := validation.New(validation.DefaultPrefix, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Address judges where to listen: port is the usual one, for the way out.
func Address(name, value, port string) error {
	colon := strings.LastIndexByte(value, ':')
	if colon >= 0 && isHost(value[:colon]) {
		if _, err := strconv.ParseUint(value[colon+1:], 10, 16); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s %q is not host:port: write :%s, or 127.0.0.1:%s", name, value, port, port)
}

// isHost takes a name on trust; an address with colons stands in brackets.
func isHost(host string) bool {
	if !strings.ContainsAny(host, ":[]") {
		return true
	}
	inside, opened := strings.CutPrefix(host, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	_, err := netip.ParseAddr(inside)
	return opened && closed && err == nil
}

// Level is that of a log: what --log-level says or, if it is silent, info, or debug if the environment wishes so.
func Level(level, debug string) (string, error) {
	if level != "" {
		if known := strings.ToLower(level); slices.Contains([]string{"debug", "info", "warn", "error"}, known) {
			return known, nil
		}
		return "info", fmt.Errorf("--log-level %q: write debug, info, warn or error", level)
	}
	wished, err := Switch(debug).On("SVC_LB_MUX_DEBUG")
	switch {
	case err != nil:
		return "info", fmt.Errorf("%w, or overrule it with --log-level", err)
	case wished:
		return "debug", nil
	}
	return "info", nil
}

// List splits a text at its commas, and leaves blanks and empty parts out.
func List(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
