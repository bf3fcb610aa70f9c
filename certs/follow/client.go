package follow

import (
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient reads and writes what certificates are about, past every cache. It knows where the kinds are without asking:
// cert-manager's may come later than we do.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, admissionregistrationv1.AddToScheme, cmapi.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), meta.RESTScopeNamespace)
	mapper.Add(cmapi.SchemeGroupVersion.WithKind("Certificate"), meta.RESTScopeNamespace)
	mapper.Add(cmapi.SchemeGroupVersion.WithKind("Issuer"), meta.RESTScopeNamespace)
	mapper.Add(cmapi.SchemeGroupVersion.WithKind("ClusterIssuer"), meta.RESTScopeRoot)
	mapper.Add(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), meta.RESTScopeRoot)
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
}
