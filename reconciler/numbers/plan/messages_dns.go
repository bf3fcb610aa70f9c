package plan

import (
	"fmt"

	"nowake.ai/svc-lb-mux/validation"
)

func textHostnameNotAllowed(name string, mux *ObservedMux) string {
	return fmt.Sprintf("%s isn't gathered: the mux %s allows %s: take one of these names, or ask its owner", name, mux.Key,
		mux.Hostnames.Brief())
}

func textHostnameTaken(name, holder string) string {
	return fmt.Sprintf("%s isn't gathered: namespace %s has it: take another name, or wait until no channel there asks "+
		"for it", name, holder)
}

func textDirect(key, name string, mux *ObservedMux) string {
	if name == "" {
		return fmt.Sprintf("%s: it lists more than the %d names that can be judged, and the mux %s allows %s: list fewer, "+
			"or use external-dns-hostname", key, validation.MaxHostnames, mux.Key, mux.Hostnames.Brief())
	}
	return fmt.Sprintf("%s: external-dns would publish %s, and the mux %s allows %s: take one of these names, or ask "+
		"its owner", key,
		name, mux.Key, mux.Hostnames.Brief())
}

func textTooManyDirect(key string, most int) string {
	return fmt.Sprintf("%s: the channels of its namespace give external-dns more than %d names, which is as many as are "+
		"judged: give fewer, or use external-dns-hostname", key, most)
}

func textTooManyHostnames(name string, most int) string {
	return fmt.Sprintf("%s isn't gathered: the channels of its namespace ask for more than %d new names on the mux: ask "+
		"for fewer, or use another mux",
		name, most)
}

func textHostnamesFull(name string) string {
	return fmt.Sprintf("%s isn't gathered: the mux has as many names as fit into an annotation: take others off, or use "+
		"another mux", name)
}

func textProxiedConflict(key string, now, wish validation.Switch) string {
	value := now.String()
	if value == "" {
		value = "neither true nor false"
	}
	return fmt.Sprintf("%s is %s on the mux and stays so, though its channels say %s: take it off the mux to have it "+
		"follow them", key, value, wish)
}
