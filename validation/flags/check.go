package flags

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nowake.ai/svc-lb-mux/validation"
)

// Prefix checks a prefix of annotations and classes. It uses a valid namespace, so that only the prefix can fail.
func Prefix(name, value string) error {
	if _, err := validation.New(value, "default"); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Namespace checks a namespace. It uses a valid prefix, so that only the namespace can fail.
func Namespace(name, value string) error {
	if _, err := validation.New(validation.DefaultPrefix, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Address checks an address to listen on. Port is the usual port, for the error message.
func Address(name, value, port string) error {
	colon := strings.LastIndexByte(value, ':')
	if colon >= 0 && isHost(value[:colon]) {
		if _, err := strconv.ParseUint(value[colon+1:], 10, 16); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s %q is not host:port: write :%s, or 127.0.0.1:%s", name, value, port, port)
}

// isHost accepts any host name. An IPv6 address must be in brackets.
func isHost(host string) bool {
	if !strings.ContainsAny(host, ":[]") {
		return true
	}
	inside, opened := strings.CutPrefix(host, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	_, err := netip.ParseAddr(inside)
	return opened && closed && err == nil
}

// Level returns the log level: the value of --log-level if it is set, else info, or debug if the environment variable
// asks for it.
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

// List splits a text at commas and drops spaces and empty parts.
func List(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
