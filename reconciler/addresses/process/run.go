package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"nowake.ai/svc-lb-mux/balancer/logs"
	"nowake.ai/svc-lb-mux/reconciler/addresses"
	"nowake.ai/svc-lb-mux/validation/flags"
)

// stopTimeout limits the wait for running work after the process is told to end.
const stopTimeout = 10 * time.Second

// Run works until the context ends, then releases the lease, and returns nil. It returns an error if the work fails or
// the lease is lost: the process is started again then, without memory.
func Run(ctx context.Context, options Options, version string, to io.Writer) error {
	if err := options.Check(); err != nil {
		return err
	}
	level, err := options.level()
	if err != nil {
		return err
	}
	logger := zapr.NewLogger(logs.New(level, to))
	log.SetLogger(logger)
	klog.SetLogger(logger)
	kube, err := restConfig(options.Kubeconfig, version)
	if err != nil {
		return err
	}
	m, err := newManager(&options, kube, logger)
	if err != nil {
		return err
	}
	broadcaster, err := newBroadcaster(kube)
	if err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	registry, metrics := newRegistry(version), addresses.NewMetrics()
	registry.MustRegister(metrics)
	if err := addController(m, &options, broadcaster, metrics); err != nil {
		return err
	}
	probes, err := net.Listen("tcp", options.ProbeAddress)
	if err != nil {
		return fmt.Errorf("--probe-address %q: %w", options.ProbeAddress, err)
	}
	if err := m.Add(probeServer(probes, routes(m, registry))); err != nil {
		return err
	}
	logger.Info("starting", "version", version, "probeAddress", probes.Addr().String(), "apiPrefix", options.APIPrefix,
		"namespace", options.Namespace)
	if err := work(ctx, m); err != nil && ctx.Err() == nil {
		return fmt.Errorf("gateway controller: %w", err)
	}
	logger.Info("ended in order")
	return nil
}

// work runs the manager. A manager that is stopped while it fills its caches never returns, for example if no API
// server answers. Then work returns without it: nothing of ours has started yet.
func work(ctx context.Context, m manager.Manager) error {
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTimeout + 2*time.Second):
		return nil
	}
}

func newManager(o *Options, kube *rest.Config, logger logr.Logger) (manager.Manager, error) {
	caching, err := cacheOptions(o)
	if err != nil {
		return nil, err
	}
	return manager.New(kube, manager.Options{
		Scheme: clientscheme.Scheme, MapperProvider: newMapper, Logger: logger, Cache: caching,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // served with the probes
		HealthProbeBindAddress: "0",
		LeaderElection:         o.LeaderElection, LeaderElectionID: o.LeaseName, LeaderElectionNamespace: o.Namespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: ptr.To(stopTimeout),
		LeaseDuration: &o.LeaseDuration, RenewDeadline: &o.RenewDeadline, RetryPeriod: &o.RetryPeriod,
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // tests run several in one process
	})
}

func addController(m manager.Manager, o *Options, broadcaster record.EventBroadcaster,
	metrics *addresses.Metrics) error {
	language, err := o.language()
	if err != nil {
		return err
	}
	pools, err := o.pools()
	if err != nil {
		return err
	}
	namespaces := flags.List(o.MuxNamespaces)
	var rebuildAfter time.Duration
	if o.LeaderElection {
		rebuildAfter = o.LeaseDuration
	}
	c := addresses.New(addresses.Settings{
		Language: language, Namespace: o.Namespace, MuxNamespaces: namespaces, Pools: pools, RebuildAfter: rebuildAfter,
		Writes: o.Writes,
		Now:    time.Now, Metrics: metrics,
	}, &addresses.Kube{
		Keys: language.Keys(), Namespace: o.Namespace, MuxNamespaces: namespaces, Cache: m.GetClient(),
		Live:   m.GetAPIReader(),
		Writer: m.GetClient(),
		Events: broadcaster.NewRecorder(clientscheme.Scheme, corev1.EventSource{Component: "svc-lb-mux-gateway-controller"}),
	})
	return c.Setup(m, m.GetCache())
}

func restConfig(file, version string) (*rest.Config, error) {
	load := rest.InClusterConfig // clientcmd would do the same, but log a warning
	if file != "" {
		load = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags("", file) }
	}
	kube, err := load()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %q: %w", file, err)
	}
	kube.UserAgent = "svc-lb-mux-gateway-controller/" + version
	kube.QPS, kube.Burst = -1, -1 // API Priority and Fairness is the limiter
	return kube, nil
}

// newBroadcaster sends Events to the API server, with client-go's rate limit for each object and reason.
func newBroadcaster(kube *rest.Config) (record.EventBroadcaster, error) {
	set, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithSleepDuration(time.Second),
		record.WithCorrelatorOptions(record.CorrelatorOptions{
			SpamKeyFunc: func(event *corev1.Event) string {
				return event.InvolvedObject.Namespace + "/" + event.InvolvedObject.Name + "/" + event.Reason
			},
		}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: set.CoreV1().Events("")})
	return broadcaster, nil
}

// probeServer serves probes and metrics from the start, even while the API server is away and while this process
// doesn't lead.
func probeServer(listener net.Listener, routes http.Handler) *manager.Server {
	return &manager.Server{
		Name: "probes and metrics", Listener: listener, ShutdownTimeout: ptr.To(time.Second),
		Server: &http.Server{
			Handler: routes, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
			MaxHeaderBytes: 64 << 10,
		},
	}
}

// routes serves probes and metrics. A process is healthy if it answers, and ready once its caches are filled, so that
// it could lead.
func routes(m manager.Manager, registry *prometheus.Registry) http.Handler {
	paths := http.NewServeMux()
	paths.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	paths.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		within, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(within) {
			http.Error(w, "the cache isn't filled yet: is the API server there, and may we list Services, and Leases and "+
				"ConfigMaps in our namespace?",
				http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	paths.Handle("/metrics",
		promhttp.HandlerFor(prometheus.Gatherers{registry, crmetrics.Registry}, promhttp.HandlerOpts{}))
	return paths
}

func newRegistry(version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "svc_lb_mux_build_info", Help: "1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"component": "gateway-controller", "version": version,
			"go_version": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(build)
	return registry
}
