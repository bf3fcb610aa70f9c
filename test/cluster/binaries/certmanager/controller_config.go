package main

import (
	"time"

	config "github.com/cert-manager/cert-manager/pkg/apis/config/controller/v1alpha1"
	shared "github.com/cert-manager/cert-manager/pkg/apis/config/shared/v1alpha1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// ignoredFlags are the chart's flags for ACME and Ingresses, neither of which runs here. The same settings in a
// configuration file are ignored, too.
var ignoredFlags = []string{
	"acme-http01-solver-image",
	"acme-http01-solver-extra-labels",
	"acme-http01-solver-runtime-class-name",
	"default-issuer-name",
	"default-issuer-kind",
	"default-issuer-group",
	"dns01-recursive-nameservers",
	"dns01-recursive-nameservers-only",
	"max-concurrent-challenges",
}

// newController sets upstream's defaults. They are repeated here because upstream's package of defaults imports every
// control loop, including ACME and Venafi.
func newController() (*certController, error) {
	c := &certController{config: config.ControllerConfiguration{
		KubernetesAPIQPS:          new(float32(20)),
		KubernetesAPIBurst:        new(int32(50)),
		ClusterResourceNamespace:  "kube-system",
		Controllers:               []string{"*"},
		EnableCertificateOwnerRef: new(false),
		CopiedAnnotationPrefixes:  []string{"*", "-kubectl.kubernetes.io/", "-fluxcd.io/", "-argocd.argoproj.io/"},
		NumberOfConcurrentWorkers: new(int32(5)),
		MetricsListenAddress:      "0.0.0.0:9402",
		HealthzListenAddress:      "0.0.0.0:9403",
		LeaderElectionConfig: config.LeaderElectionConfig{
			LeaderElectionConfig: defaultLeaderElection(),
			HealthzTimeout:       seconds(20),
		},
		CertificateRequestMinimumBackoffDuration: shared.DurationFromTime(time.Hour),
		CertificateRequestMaximumBackoffDuration: shared.DurationFromTime(32 * time.Hour),
	}}
	logsapi.SetRecommendedLoggingConfiguration(&c.config.Logging)
	return c, nil
}

func (c *certController) common() common {
	return common{logging: &c.config.Logging, gates: &c.config.FeatureGates}
}

func (c *certController) addFlags(flags *pflag.FlagSet) {
	c.common().addFlags(flags)
	text := func(value *string, name, usage string) { flags.StringVar(value, name, *value, usage) }
	text(&c.config.APIServerHost, "master", "address of the API server, instead of the kubeconfig's")
	text(&c.config.KubeConfig, "kubeconfig", "default: the pod's account")
	text(&c.config.Namespace, "namespace", "work in this namespace only, without ClusterIssuers")
	text(&c.config.ClusterResourceNamespace, "cluster-resource-namespace", "where the Secrets of ClusterIssuers are")
	text(&c.config.MetricsListenAddress, "metrics-listen-address", "host:port of the metrics; 0 for none")
	text(&c.config.HealthzListenAddress, "internal-healthz-listen-address", "host:port of /livez; 0 for none")

	flags.StringSliceVar(&c.config.Controllers, "controllers", c.config.Controllers, "* for all, -name for all but one")
	flags.StringSliceVar(&c.config.CopiedAnnotationPrefixes, "copied-annotation-prefixes",
		c.config.CopiedAnnotationPrefixes, "annotations to copy from a Certificate to its request")
	flags.BoolVar(c.config.EnableCertificateOwnerRef, "enable-certificate-owner-ref",
		*c.config.EnableCertificateOwnerRef, "delete a Certificate's Secret with it")
	flags.Int32Var(c.config.NumberOfConcurrentWorkers, "concurrent-workers",
		*c.config.NumberOfConcurrentWorkers, "workers per controller")

	addLeaderElectionFlags(flags, &c.config.LeaderElectionConfig.LeaderElectionConfig)
	addDuration(flags, c.config.LeaderElectionConfig.HealthzTimeout, "internal-healthz-leader-election-timeout",
		"/livez fails when the lease is older than its duration and this")
	addDuration(flags, c.config.CertificateRequestMinimumBackoffDuration,
		"certificate-request-minimum-backoff-duration", "first wait after a failed request; doubles")
	for _, name := range ignoredFlags {
		flags.String(name, "", "accepted and ignored")
	}
}

func (c *certController) readFile(path string) error {
	want := config.SchemeGroupVersion.WithKind("ControllerConfiguration")
	if err := readConfig(path, want, &c.config, &c.config.TypeMeta); err != nil {
		return err
	}
	return onlyPlainMetrics(c.config.MetricsTLSConfig)
}

func (c *certController) contextOptions() controller.ContextOptions {
	return controller.ContextOptions{
		APIServerHost:      c.config.APIServerHost,
		Kubeconfig:         c.config.KubeConfig,
		KubernetesAPIQPS:   *c.config.KubernetesAPIQPS,
		KubernetesAPIBurst: int(*c.config.KubernetesAPIBurst),
		Namespace:          c.config.Namespace,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: c.config.ClusterResourceNamespace},
		CertificateOptions: controller.CertificateOptions{
			EnableOwnerRef:           *c.config.EnableCertificateOwnerRef,
			CopiedAnnotationPrefixes: c.config.CopiedAnnotationPrefixes,

			CertificateRequestMinimumBackoffDuration: c.config.CertificateRequestMinimumBackoffDuration.Duration.Duration,
			CertificateRequestMaximumBackoffDuration: c.config.CertificateRequestMaximumBackoffDuration.Duration.Duration,
		},
	}
}
