package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// allowed answers from the mux's allowed-namespaces and allowed-hostnames. It searches each list once for a namespace,
// however many channels and DNS names there are: both lists may be long.
type allowed struct {
	mux        *ObservedMux
	namespaces map[string]bool
	hostnames  map[string]validation.HostnameMatcher
	direct     map[types.NamespacedName][]validation.DirectName // forbidden names, by channel
	asked      map[string]int                                   // how many direct names were compared, by namespace
}

func allowedBy(mux *ObservedMux) allowed {
	return allowed{mux: mux, namespaces: map[string]bool{}, hostnames: map[string]validation.HostnameMatcher{},
		direct: map[types.NamespacedName][]validation.DirectName{}, asked: map[string]int{}}
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

// hostname is true if channels of the namespace may use the DNS name.
func (a *allowed) hostname(name, namespace string) bool {
	return a.matcher(namespace).Allows(name)
}

// forbidden returns the names that external-dns takes from the channel itself and that the mux doesn't allow. A pass
// compares at most maxHostnamesAsked such names of a namespace. unread is true for channels beyond that.
func (a *allowed) forbidden(c *channel) (forbidden []validation.DirectName, unread bool) {
	if len(c.Direct) == 0 {
		return nil, false
	}
	forbidden, known := a.direct[c.Key]
	if known {
		return forbidden, false
	}
	if a.asked[c.Key.Namespace]+len(c.Direct) > maxHostnamesAsked {
		return nil, true
	}
	a.asked[c.Key.Namespace] += len(c.Direct)
	forbidden = a.matcher(c.Key.Namespace).Forbids(c.Direct)
	a.direct[c.Key] = forbidden
	return forbidden, false
}

func (a *allowed) matcher(namespace string) validation.HostnameMatcher {
	matcher, known := a.hostnames[namespace]
	if !known {
		matcher = a.mux.Hostnames.In(namespace)
		a.hostnames[namespace] = matcher
	}
	return matcher
}
