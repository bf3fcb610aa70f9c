package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cert-manager/cert-manager/internal/apis/config/cainjector/scheme"
	config "github.com/cert-manager/cert-manager/pkg/apis/config/cainjector/v1alpha1"
	certmanager "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/scheme"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// caInjector writes the CA of a Certificate, a Secret or the API server into the objects annotated for it.
type caInjector struct {
	config config.CAInjectorConfiguration
}

func newCAInjector() (*caInjector, error) {
	defaults, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	c := &caInjector{}
	defaults.Default(&c.config)
	return c, nil
}

func (c *caInjector) common() common {
	return common{logging: &c.config.Logging, gates: &c.config.FeatureGates}
}

func (c *caInjector) addFlags(flags *pflag.FlagSet) {
	c.common().addFlags(flags)
	flags.StringVar(&c.config.KubeConfig, "kubeconfig", c.config.KubeConfig, "default: the pod's account")
	flags.StringVar(&c.config.Namespace, "namespace", c.config.Namespace, "take CAs from this namespace only")
	flags.StringVar(&c.config.MetricsListenAddress, "metrics-listen-address", c.config.MetricsListenAddress,
		"host:port of the metrics; 0 for none")
	addLeaderElectionFlags(flags, &c.config.LeaderElectionConfig)

	enable := func(value *bool, name string) {
		flags.BoolVar(value, "enable-"+name, *value, "handle "+name)
	}
	enable(c.config.EnableDataSourceConfig.Certificates, "certificates-data-source")
	into := c.config.EnableInjectableConfig
	enable(into.ValidatingWebhookConfigurations, "validatingwebhookconfigurations-injectable")
	enable(into.MutatingWebhookConfigurations, "mutatingwebhookconfigurations-injectable")
	enable(into.CustomResourceDefinitions, "customresourcedefinitions-injectable")
	enable(into.APIServices, "apiservices-injectable")
}

func (c *caInjector) readFile(path string) error {
	want := config.SchemeGroupVersion.WithKind("CAInjectorConfiguration")
	if err := readConfig(path, want, &c.config, &c.config.TypeMeta); err != nil {
		return err
	}
	return onlyPlainMetrics(c.config.MetricsTLSConfig)
}

func (c *caInjector) run(ctx context.Context) error {
	restConfig, err := connect(ctx, "", c.config.KubeConfig, "cainjector")
	if err != nil {
		return err
	}
	options, err := c.managerOptions()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return fmt.Errorf("creating the manager: %w", err)
	}
	if err := c.awaitCertificates(ctx, manager); err != nil {
		return err
	}
	into := c.config.EnableInjectableConfig
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		Namespace:                    c.config.Namespace,
		IgnoreNamespaces:             c.config.IgnoreNamespaces,
		EnableCertificatesDataSource: *c.config.EnableDataSourceConfig.Certificates,
		EnabledReconcilersFor: map[string]bool{
			cainjector.ValidatingWebhookConfigurationName: *into.ValidatingWebhookConfigurations,
			cainjector.MutatingWebhookConfigurationName:   *into.MutatingWebhookConfigurations,
			cainjector.CustomResourceDefinitionName:       *into.CustomResourceDefinitions,
			cainjector.APIServiceName:                     *into.APIServices,
		},
	})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

func (c *caInjector) managerOptions() (ctrl.Options, error) {
	all := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(kubernetes.AddToScheme, certmanager.AddToScheme,
		apiextensions.AddToScheme, apiregistration.AddToScheme)
	if err := add.AddToScheme(all); err != nil {
		return ctrl.Options{}, err
	}
	options := ctrl.Options{
		Scheme:  all,
		Metrics: server.Options{BindAddress: c.config.MetricsListenAddress},
		// Reads through the cache would start informers that a flag has disabled.
		Cache: cache.Options{ReaderFailOnMissingInformer: true},
		// The library watches only the metadata of Secrets. A read through the cache would keep whole Secrets in
		// memory.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	}
	if c.config.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{c.config.Namespace: {}}
	}
	leader := c.config.LeaderElectionConfig
	options.LeaderElection = *leader.Enabled
	options.LeaderElectionID = "cert-manager-cainjector-leader-election" // the name in the chart's Role
	options.LeaderElectionNamespace = leader.Namespace
	options.LeaderElectionReleaseOnCancel = true
	options.LeaseDuration = &leader.LeaseDuration.Duration.Duration
	options.RenewDeadline = &leader.RenewDeadline.Duration.Duration
	options.RetryPeriod = &leader.RetryPeriod.Duration.Duration
	return options, nil
}

// awaitCertificates waits for the definition of Certificate. A chart may start cainjector before it applies the
// definition, and a watch of an unknown kind would end the manager.
func (c *caInjector) awaitCertificates(ctx context.Context, manager ctrl.Manager) error {
	if !*c.config.EnableDataSourceConfig.Certificates {
		return nil
	}
	name := types.NamespacedName{Name: "certificates.cert-manager.io"}
	defined := func(ctx context.Context) (bool, error) {
		err := manager.GetAPIReader().Get(ctx, name, &apiextensions.CustomResourceDefinition{})
		return err == nil, client.IgnoreNotFound(err)
	}
	err := wait.PollUntilContextTimeout(ctx, time.Second, 5*time.Minute, true, defined)
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = apierrors.NewNotFound(apiextensions.Resource("customresourcedefinitions"), name.Name)
	}
	if err != nil {
		return fmt.Errorf("waiting for cert-manager's CRDs: %w", err)
	}
	return nil
}
