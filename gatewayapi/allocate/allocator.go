package allocate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/gatewayapi/read"
	"nowake.ai/svc-lb-mux/reconciler/budget"
	"nowake.ai/svc-lb-mux/validation"
)

// Options configure an Allocator.
type Options struct {
	Language validation.Language
	// Namespaces are those whose Gateways are served; if empty, all.
	Namespaces []string
	// Config is the connection to the API server.
	Config *rest.Config
	Events record.EventRecorder
	// Budget bounds how often the routes of a namespace change their numbers on a Gateway.
	Budget budget.Limit
	// RebuildFrom returns when this process may rebuild a lost ledger: see plan.World.
	RebuildFrom func() time.Time
	Now         func() time.Time
	Log         logr.Logger
	// Every is how often the allocator looks whether the API server serves other kinds of the Gateway API than before.
	Every time.Duration
}

// Allocator runs while the API server serves the Gateway API.
type Allocator struct{ Options }

// New returns an Allocator. It is a manager.Runnable.
func New(options Options) *Allocator { return &Allocator{options} }

// Start works until the context ends. Where kinds are missing, it says so once, and waits for them.
func (a *Allocator) Start(ctx context.Context) error {
	log := a.Log.WithName("gateway-api")
	client, err := discovery.NewDiscoveryClientForConfig(a.Config)
	if err != nil {
		return err
	}
	var said string
	for ctx.Err() == nil {
		kinds, err := served(ctx, client)
		if err == nil {
			if missing := kinds.missing(); missing != said {
				if said = missing; missing != "" {
					log.Info("kinds of the Gateway API are missing, and are waited for", "missing", missing, "version", version.String())
				}
			}
			if kinds.suffice() {
				log.Info("allocating numbers for routes", "kinds", strings.Join(kinds, ", "))
				err = a.run(ctx, log, client, kinds)
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "it is tried again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(a.Every):
		}
	}
	return nil
}

// kinds are the kinds of the Gateway API that the API server serves in our version, sorted.
type kinds []string

func (k kinds) has(kind string) bool { return slices.Contains(k, kind) }

// suffice is true if there may be routes with a number.
func (k kinds) suffice() bool {
	return k.has("Gateway") && k.has("ListenerSet") && (k.has(read.TCPRoute) || k.has(read.UDPRoute))
}

func (k kinds) missing() string {
	var missing []string
	for _, kind := range [...]string{"Gateway", "ListenerSet", read.TCPRoute, read.UDPRoute} {
		if !k.has(kind) {
			missing = append(missing, kind)
		}
	}
	return strings.Join(missing, ", ")
}

func served(ctx context.Context, client discovery.DiscoveryInterface) (kinds, error) {
	list, err := client.ServerResourcesForGroupVersion(version.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("which kinds of the Gateway API are there: %w", err)
	}
	var found kinds
	for i := range list.APIResources {
		if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") {
			found = append(found, r.Kind)
		}
	}
	slices.Sort(found)
	return found, ctx.Err()
}

// errOther ends a run because the API server serves other kinds by now.
var errOther = errors.New("the API server serves other kinds of the Gateway API than before")

// run allocates until the context ends, or until other kinds are served.
func (a *Allocator) run(ctx context.Context, log logr.Logger, client discovery.DiscoveryInterface, with kinds) error {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), gatewayv1.Install(types)); err != nil {
		return err
	}
	m, err := manager.New(a.Config, manager.Options{
		Scheme: types, Logger: log, Cache: cacheOptions(a.Language, a.Namespaces),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(with), nil },
		Metrics:        metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // it may run again in this process
	})
	if err != nil {
		return err
	}
	if err := newLine(&a.Options, m, with).setup(ctx, m); err != nil {
		return err
	}
	if err := m.Add(manager.RunnableFunc(func(ctx context.Context) error { return a.watchKinds(ctx, client, with) })); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil && !errors.Is(err, errOther) {
		return err
	}
	return nil
}

// watchKinds returns errOther once other kinds are served. An API server that doesn't answer tells nothing.
func (a *Allocator) watchKinds(ctx context.Context, client discovery.DiscoveryInterface, with kinds) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(a.Every):
		}
		if now, err := served(ctx, client); err == nil && now.missing() != with.missing() {
			return errOther
		}
	}
}

// version is that of the Gateway API's kinds.
var version = schema.GroupVersion{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version}

// mapper maps the kinds without discovery.
func mapper(with kinds) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range with {
		name := strings.ToLower(kind) // Gateway's plural isn't the one that the mapper would guess
		for _, kind := range [...]string{kind, kind + "List"} {
			m.AddSpecific(version.WithKind(kind), version.WithResource(name+"s"), version.WithResource(name), meta.RESTScopeNamespace)
		}
	}
	for _, kind := range [...]string{"ConfigMap", "ConfigMapList"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range [...]string{"Namespace", "NamespaceList"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	return m
}
