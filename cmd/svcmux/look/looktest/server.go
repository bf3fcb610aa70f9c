package looktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Server is an API server that answers as the cluster's would. It sends protocol buffers to clients that take them.
type Server struct {
	cluster *Cluster
	// Forbidden are the resources that the user may not read, as resource for all namespaces, and resource/namespace for
	// one.
	Forbidden []string
	// Minor is the minor version of Kubernetes. Denied is a right that the reconciler lacks, such as "list services", or
	// one that the webhook lacks, such as "webhook: list services". Excessive gives the reconciler rights that it never
	// uses.
	Minor     string
	Denied    string
	Excessive bool
	codecs    serializer.CodecFactory
	// Stream answers watches; nil if there are no watches.
	Stream func(w http.ResponseWriter, r *http.Request)
}

// Serve starts an API server, and returns a kubeconfig for it. The context's namespace is shop.
func (c *Cluster) Serve(t testing.TB, forbidden ...string) (kubeconfig string, s *Server) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range [...]func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	s = &Server{cluster: c, Forbidden: forbidden, Minor: "34", codecs: serializer.NewCodecFactory(scheme)}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return Kubeconfig(t, server.URL), s
}

// Kubeconfig writes a kubeconfig for a server.
func Kubeconfig(t testing.TB, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: here, cluster: {server: %q}}]\nusers: [{name: "+
		"jane, user: {token: secret}}]\ncontexts: [{name: work, context: {cluster: here, user: jane, namespace: "+
		"shop}}]\ncurrent-context: work\n", url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// request is what a path asks for.
type request struct{ resource, namespace, name string }

func parse(path string) request {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	parts = parts[map[string]int{"api": 2, "apis": 3}[parts[0]]:]
	var r request
	if len(parts) > 2 && parts[0] == "namespaces" {
		r.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 { // the kinds of a group
		return r
	}
	r.resource = parts[0]
	if len(parts) > 1 {
		r.name = parts[1]
	}
	return r
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ask := parse(r.URL.Path)
	where := "in the namespace \"" + ask.namespace + "\""
	forbidden := slices.Contains(s.Forbidden, ask.resource+"/"+ask.namespace)
	if ask.namespace == "" {
		where, forbidden = "at the cluster scope", slices.Contains(s.Forbidden, ask.resource)
	}
	switch {
	case forbidden:
		verb := "list"
		if ask.name != "" {
			verb = "get"
		}
		s.answer(w, r, http.StatusForbidden, status(http.StatusForbidden, metav1.StatusReasonForbidden,
			fmt.Sprintf("%s is forbidden: User \"jane\" cannot %s resource %q in API group \"\" %s", ask.resource, verb,
				ask.resource, where)))
	case r.URL.Query().Get("watch") != "":
		if s.Stream != nil {
			s.Stream(w, r)
		}
		<-r.Context().Done()
	case s.raw(w, r, ask):
	default:
		object := s.find(ask, r.URL.Query().Get("labelSelector"))
		if object == nil {
			s.answer(w, r, http.StatusNotFound, status(http.StatusNotFound, metav1.StatusReasonNotFound, ask.name+" not found"))
			return
		}
		s.answer(w, r, http.StatusOK, object)
	}
}

func status(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: code, Reason: reason, Message: message}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, code int, object runtime.Object) {
	kind := runtime.ContentTypeJSON
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		kind = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), kind)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(code)
	group := schema.GroupVersions{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion}
	if err := s.codecs.EncoderForVersion(info.Serializer, group).Encode(object, w); err != nil {
		s.cluster.t.Error(err)
	}
}

// find returns an object or a list; nil if the object doesn't exist.
func (s *Server) find(ask request, selector string) runtime.Object {
	c := s.cluster
	wanted, _ := labels.Parse(selector)
	is := func(o metav1.Object) bool {
		return (ask.namespace == "" || o.GetNamespace() == ask.namespace) && (ask.name == "" || o.GetName() == ask.name) &&
			(selector == "" || wanted.Matches(labels.Set(o.GetLabels())))
	}
	meta := metav1.ListMeta{ResourceVersion: "7"}
	switch ask.resource {
	case "services":
		return one(ask, c.services(), is, func(all []corev1.Service) runtime.Object {
			return &corev1.ServiceList{ListMeta: meta, Items: all}
		})
	case "endpointslices":
		return one(ask, c.slices(), is, func(all []discoveryv1.EndpointSlice) runtime.Object {
			return &discoveryv1.EndpointSliceList{ListMeta: meta, Items: all}
		})
	case "configmaps":
		return one(ask, c.configMaps(), is, func(all []corev1.ConfigMap) runtime.Object {
			return &corev1.ConfigMapList{ListMeta: meta, Items: all}
		})
	case "deployments":
		return one(ask, c.deployments(), is, func(all []appsv1.Deployment) runtime.Object {
			return &appsv1.DeploymentList{ListMeta: meta, Items: all}
		})
	}
	return nil
}

func one[T any, P interface {
	*T
	runtime.Object
	metav1.Object
}](ask request, all []P, is func(metav1.Object) bool, asList func([]T) runtime.Object) runtime.Object {
	var found []T
	for _, object := range all {
		if is(object) {
			found = append(found, *object)
		}
	}
	switch {
	case ask.name == "":
		return asList(found)
	case len(found) == 0:
		return nil
	}
	return P(&found[0])
}
