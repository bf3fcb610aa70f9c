package survey

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nowake.ai/svc-lb-mux/validation"
)

// placeholderPort is the port that a mux declares because a Service needs one.
const placeholderPort = 101

// skeleton returns a mux with the class of a Service, and with its annotations that providers read to make a load
// balancer.
func (o *Options) skeleton(svc *corev1.Service) *corev1.Service {
	keys := o.Lang.Keys()
	mux := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.MuxNamespace, Name: o.MuxName,
			Annotations: map[string]string{keys.Multiplexer: "true", keys.PortRange: o.Range},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: svc.Spec.LoadBalancerClass,
			Ports: []corev1.ServicePort{{Name: "placeholder", Port: placeholderPort}},
		},
	}
	if o.PerNamespace {
		mux.Namespace = svc.Namespace
		mux.Annotations[keys.AllowedNamespaces] = "Same"
	}
	if o.Provider != "" {
		mux.Annotations[keys.Provider] = o.Provider
	}
	for key, value := range svc.Annotations {
		if isForProvider(key) && !slices.Contains(o.GiveUp, key) {
			mux.Annotations[key] = value
		}
	}
	return mux
}

func (o *Options) providerOf(svc *corev1.Service) validation.Provider {
	mux, _ := o.Lang.ParseMux(o.skeleton(svc))
	return mux.Provider
}

// auto returns the numbers of the mux's range.
func (o *Options) auto() validation.PortRanges {
	mux, _ := o.Lang.ParseMux(o.skeleton(&corev1.Service{}))
	return mux.Auto
}

// room returns how many ports of channels a mux in place of this Service has room for.
func (o *Options) room(svc *corev1.Service) int {
	mux, _ := o.Lang.ParseMux(o.skeleton(svc))
	room := min(mux.Cap.Ports, validation.DefaultMaxPorts)
	if !removesPlaceholder(mux.Provider, svc) {
		room--
	}
	return room
}

// removesPlaceholder says that the mux must lose its declared placeholder: it is TCP, and this load balancer carries
// UDP alone.
func removesPlaceholder(provider validation.Provider, svc *corev1.Service) bool {
	return !provider.CanMix && !slices.Contains(protocolsOf(svc), string(corev1.ProtocolTCP))
}

func (m *Mux) removesPlaceholder() bool {
	return removesPlaceholder(m.Provider, m.Members[0].From)
}

// newMux returns a mux with the settings that all Services of a group have.
func (o *Options) newMux(g *group, svc *corev1.Service) *Mux {
	mux := o.skeleton(svc)
	has := func(what string) bool {
		return slices.ContainsFunc(g.aspects, func(a aspect) bool { return a.What == what })
	}
	parsed, _ := o.Lang.ParseMux(mux)
	if parsed.Provider.MaxPorts > 0 {
		mux.Annotations[o.Lang.Keys().MaxPorts] = strconv.Itoa(parsed.Provider.MaxPorts)
	}
	if removesPlaceholder(parsed.Provider, svc) {
		mux.Annotations[o.Lang.Keys().Placeholder] = "remove"
	}
	mux.Spec.LoadBalancerSourceRanges = rangesOf(svc)
	if has(loadBalancerIP) {
		mux.Spec.LoadBalancerIP = svc.Spec.LoadBalancerIP
	}
	if has(sessionAffinity) {
		mux.Spec.SessionAffinity = svc.Spec.SessionAffinity
		mux.Spec.SessionAffinityConfig = svc.Spec.SessionAffinityConfig
	}
	if has(ipFamilies) {
		mux.Spec.IPFamilies, mux.Spec.IPFamilyPolicy = svc.Spec.IPFamilies, svc.Spec.IPFamilyPolicy
	}
	if slices.IndexFunc(g.members, needsNodePorts) < 0 {
		without := false
		mux.Spec.AllocateLoadBalancerNodePorts = &without
	}
	return &Mux{Service: mux, Provider: parsed.Provider, Limit: min(parsed.Cap.Ports, validation.DefaultMaxPorts),
		numbers: numbers{}}
}

func needsNodePorts(svc *corev1.Service) bool {
	allocate := svc.Spec.AllocateLoadBalancerNodePorts
	return allocate == nil || *allocate
}

// name gives the mux a name that no Service has.
func (o *Options) name(m *Mux, taken map[types.NamespacedName]bool) {
	m.Service.Name = unused(taken, m.Service.Namespace, o.MuxName)
	m.Key = keyOf(m.Service)
}
