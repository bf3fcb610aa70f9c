package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// allowed answers from the mux's allowed-namespaces and allowed-hostnames. It asks each list once for a namespace, however
// many channels and DNS names there are: both lists may be long.
type allowed struct {
	mux        *ObservedMux
	namespaces map[string]bool
	hostnames  map[string]validation.HostnameMatcher
	direct     map[types.NamespacedName][]validation.DirectName // forbidden ones, by channel
	asked      map[string]int                                   // how many of these were compared, by namespace
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

// hostname is true if channels of the namespace may have the DNS name.
func (a *allowed) hostname(name, namespace string) bool {
	return a.matcher(namespace).Allows(name)
}

// forbidden are the names that external-dns may not take from the channel itself. Of a namespace, a pass compares
// maxHostnamesAsked of them at most. All names of further channels are unread.
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
