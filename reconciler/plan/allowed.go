package plan

import "nowake.ai/svc-lb-mux/validation"

// allowed answers from the mux's allowed-namespaces and allowed-hostnames. It asks each list once for a namespace, however
// many channels and DNS names there are: both lists may be long.
type allowed struct {
	mux        *ObservedMux
	namespaces map[string]bool
	hostnames  map[string]validation.HostnameMatcher
}

func allowedBy(mux *ObservedMux) allowed {
	return allowed{mux: mux, namespaces: map[string]bool{}, hostnames: map[string]validation.HostnameMatcher{}}
}

// namespace is true if channels of the namespace may attach.
func (a *allowed) namespace(name string) bool {
	may, known := a.namespaces[name]
	if !known {
		may = a.mux.Namespaces.Allows(name)
		a.namespaces[name] = may
	}
	return may
}

// hostname is true if channels of the namespace may have the DNS name.
func (a *allowed) hostname(name, namespace string) bool {
	return a.matcher(namespace).Allows(name)
}

// forbidden are the names that external-dns may not take from the channel itself.
func (a *allowed) forbidden(c *channel) []validation.DirectName {
	if len(c.Direct) == 0 {
		return nil
	}
	return a.matcher(c.Key.Namespace).Forbids(c.Direct)
}

func (a *allowed) matcher(namespace string) validation.HostnameMatcher {
	matcher, known := a.hostnames[namespace]
	if !known {
		matcher = a.mux.Hostnames.In(namespace)
		a.hostnames[namespace] = matcher
	}
	return matcher
}
