package api

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// complete sets the defaults of unset fields.
func complete(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.Service:
		completeService(o)
	case *discoveryv1.EndpointSlice:
		for i := range o.Ports {
			if o.Ports[i].Name == nil {
				o.Ports[i].Name = ptr.To("")
			}
			if o.Ports[i].Protocol == nil {
				o.Ports[i].Protocol = ptr.To(corev1.ProtocolTCP)
			}
		}
	}
}

// prepareCreate resets the fields that a new object can't have.
func prepareCreate(obj client.Object) {
	obj.SetManagedFields(nil)
	switch o := obj.(type) {
	case *corev1.Service:
		o.Status = corev1.ServiceStatus{}
	case *discoveryv1.EndpointSlice:
		o.Generation = 1
	default:
		prepareCreateCustom(obj)
	}
}

// prepareUpdate restores the fields that a request can't change: the main resource can't change the status, and the
// status subresource can't change the spec.
func prepareUpdate(before, after client.Object, status bool) {
	switch now := after.(type) {
	case *corev1.Service:
		was := before.(*corev1.Service)
		if status {
			now.Spec = *was.Spec.DeepCopy()
			return
		}
		now.Status = *was.Status.DeepCopy()
		keepAllocated(was, now)
		dropForType(was, now)
	case *discoveryv1.EndpointSlice:
		was := before.(*discoveryv1.EndpointSlice).DeepCopy()
		plain := now.DeepCopy()
		was.ObjectMeta, plain.ObjectMeta = metav1.ObjectMeta{Labels: was.Labels}, metav1.ObjectMeta{Labels: now.Labels}
		if !equality.Semantic.DeepEqual(was, plain) {
			now.Generation++
		}
	default:
		prepareUpdateCustom(before, after, status)
	}
}

// validate returns the faults of an object. before is nil for a new object.
func validate(after, before client.Object) error {
	path := field.NewPath("metadata")
	name := apivalidation.NameIsDNSSubdomain
	if KindOf(after) == Services {
		name = apivalidation.NameIsDNSLabel // as of Kubernetes 1.34; before, it couldn't begin with a digit
	}
	problems := apivalidation.ValidateObjectMetaAccessor(after, KindOf(after).isNamespaced(), name, path)
	if before != nil {
		problems = append(problems, apivalidation.ValidateObjectMetaAccessorUpdate(after, before, path)...)
	}
	switch o := after.(type) {
	case *corev1.Service:
		was, _ := before.(*corev1.Service)
		problems = append(problems, validateService(o, was)...)
	case *discoveryv1.EndpointSlice:
		was, _ := before.(*discoveryv1.EndpointSlice)
		problems = append(problems, validateSlice(o, was)...)
	case *corev1.ConfigMap:
		was, _ := before.(*corev1.ConfigMap)
		problems = append(problems, validateConfigMap(o, was)...)
	}
	if len(problems) == 0 {
		return nil
	}
	return invalid(after, problems)
}

func invalid(obj client.Object, problems field.ErrorList) error {
	kinds := map[Kind]string{Services: "Service", ConfigMaps: "ConfigMap", EndpointSlices: "EndpointSlice",
		GatewayClasses: "GatewayClass", Gateways: "Gateway", ListenerSets: "ListenerSet", TCPRoutes: "TCPRoute",
		UDPRoutes: "UDPRoute", ReferenceGrants: "ReferenceGrant"}
	kind := KindOf(obj)
	return apierrors.NewInvalid(schema.GroupKind{Group: kind.Resource().Group, Kind: kinds[kind]}, obj.GetName(), problems)
}

func validateSlice(now, was *discoveryv1.EndpointSlice) field.ErrorList {
	var problems field.ErrorList
	switch now.AddressType {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN:
	default:
		problems = append(problems,
			field.NotSupported(field.NewPath("addressType"), now.AddressType, []string{"FQDN", "IPv4", "IPv6"}))
	}
	if was != nil && was.AddressType != now.AddressType {
		problems = append(problems, field.Invalid(field.NewPath("addressType"), now.AddressType, "field is immutable"))
	}
	seen := map[string]bool{}
	for i := range now.Ports {
		path := field.NewPath("ports").Index(i).Child("name")
		name := *now.Ports[i].Name
		if seen[name] {
			problems = append(problems, field.Duplicate(path, name))
		}
		seen[name] = true
		for _, words := range labelProblems(name) {
			problems = append(problems, field.Invalid(path, name, words))
		}
	}
	for i := range now.Endpoints {
		if len(now.Endpoints[i].Addresses) == 0 {
			problems = append(problems, field.Required(field.NewPath("endpoints").Index(i).Child("addresses"),
				"must contain at least 1 address"))
		}
	}
	return problems
}

func labelProblems(name string) []string {
	if name == "" {
		return nil
	}
	return validation.IsDNS1123Label(name)
}

// maxConfigMap is the largest size of a ConfigMap's data.
const maxConfigMap = 1 << 20

func validateConfigMap(now, was *corev1.ConfigMap) field.ErrorList {
	var problems field.ErrorList
	size := 0
	for key, value := range now.Data {
		size += len(value)
		if _, twice := now.BinaryData[key]; twice {
			problems = append(problems, field.Invalid(field.NewPath("data").Key(key), key,
				"duplicate of key present in binaryData"))
		}
		for _, words := range validation.IsConfigMapKey(key) {
			problems = append(problems, field.Invalid(field.NewPath("data").Key(key), key, words))
		}
	}
	for key, value := range now.BinaryData {
		size += len(value)
		for _, words := range validation.IsConfigMapKey(key) {
			problems = append(problems, field.Invalid(field.NewPath("binaryData").Key(key), key, words))
		}
	}
	if size > maxConfigMap {
		problems = append(problems, field.TooLong(field.NewPath(""), "", maxConfigMap))
	}
	if was != nil && ptr.Deref(was.Immutable, false) &&
		(!equality.Semantic.DeepEqual(was.Data, now.Data) || !ptr.Deref(now.Immutable, false)) {
		problems = append(problems, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	}
	return problems
}
