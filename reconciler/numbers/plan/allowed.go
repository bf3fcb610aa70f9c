package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// maxHostnamesAsked and maxComparisons bound how many DNS names of one namespace a pass compares with
// allowed-hostnames. Without them, namespaces with thousands of channels could slow each pass down by asking for names
// that aren't allowed. maxComparisons counts each name with each pattern, over all namespaces: some tenths of a second.
// Both apply to names for the mux and, separately, to names that external-dns takes from channels. Names that the mux
// has aren't compared.
const (
	maxHostnamesAsked = 4096
	maxComparisons    = 4 << 20
	// lookups is how much a name costs without any pattern, in comparisons.
	lookups = 16
)

// allowed answers from the mux's allowed-namespaces and allowed-hostnames. It searches each list once for a namespace,
// however many channels and DNS names there are: both lists may be long.
type allowed struct {
	mux        *ObservedMux
	namespaces map[string]bool
	hostnames  map[string]validation.HostnameMatcher
	direct     map[types.NamespacedName][]validation.DirectName // forbidden names, by channel
	asked      map[string]int                                   // how many direct names were compared, by namespace
	most       int                                              // how many names of a namespace may be compared
}

func allowedBy(mux *ObservedMux, channels []ObservedChannel) allowed {
	return allowed{mux: mux, most: mostAsked(mux, channels), namespaces: map[string]bool{},
		hostnames: map[string]validation.HostnameMatcher{},
		direct:    map[types.NamespacedName][]validation.DirectName{}, asked: map[string]int{}}
}

// mostAsked returns the share of each namespace in the comparisons of a pass.
func mostAsked(mux *ObservedMux, channels []ObservedChannel) int {
	asking := map[string]bool{}
	for i := range channels {
		if c := &channels[i]; len(c.Hostnames)+len(c.Direct) > 0 {
			asking[c.Key.Namespace] = true
		}
	}
	if mux == nil || len(asking) == 0 {
		return maxHostnamesAsked
	}
	return min(max(maxComparisons/(mux.Hostnames.Starred()+lookups)/len(asking), 1), maxHostnamesAsked)
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
// compares at most a.most such names of a namespace. unread is true for channels beyond that.
func (a *allowed) forbidden(c *channel) (forbidden []validation.DirectName, unread bool) {
	if len(c.Direct) == 0 {
		return nil, false
	}
	forbidden, known := a.direct[c.Key]
	if known {
		return forbidden, false
	}
	if a.asked[c.Key.Namespace]+len(c.Direct) > a.most {
		return nil, true
	}
	a.asked[c.Key.Namespace] += len(c.Direct)
	forbidden = a.matcher(c.Key.Namespace).Forbids(c.Direct)
	a.direct[c.Key] = forbidden
	return forbidden, false
}

// ForbiddenNames returns a remark about each name that external-dns takes from a channel itself and that the mux
// doesn't allow.
func ForbiddenNames(mux *ObservedMux, c *ObservedChannel) []Remark {
	if len(c.Direct) == 0 {
		return nil
	}
	var remarks []Remark
	for _, name := range mux.Hostnames.In(c.Key.Namespace).Forbids(c.Direct) {
		remarks = append(remarks, Remark{HostnameNotAllowed, textDirect(name.Key, name.Name, mux), name.Key})
	}
	return remarks
}

func (a *allowed) matcher(namespace string) validation.HostnameMatcher {
	matcher, known := a.hostnames[namespace]
	if !known {
		matcher = a.mux.Hostnames.In(namespace)
		a.hostnames[namespace] = matcher
	}
	return matcher
}
