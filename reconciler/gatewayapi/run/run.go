// Package run runs the features of the Gateway API while the API server serves the kinds that they need. It is a
// manager.Runnable.
package run

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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"nowake.ai/svc-lb-mux/validation"
)

// Feature is a set of controllers that needs some kinds of the Gateway API.
type Feature interface {
	// Name says in the log what the feature does.
	Name() string
	// Suffices is true if the feature can work with these kinds.
	Suffices(kinds Kinds) bool
	// Setup adds the feature's controllers to a manager.
	Setup(ctx context.Context, m manager.Manager, kinds Kinds) error
}

// Runner runs features.
type Runner struct {
	Language validation.Language
	// Namespaces are those whose Gateways are served; if empty, all.
	Namespaces []string
	Config     *rest.Config
	Log        logr.Logger
	// Every is how often the runner looks whether the API server serves other kinds than before.
	Every    time.Duration
	Features []Feature
}

// Start works until the context ends. Where kinds are missing, it says so once, and waits for them.
func (r *Runner) Start(ctx context.Context) error {
	log := r.Log.WithName("gateway-api")
	client, err := discovery.NewDiscoveryClientForConfig(r.Config)
	if err != nil {
		return err
	}
	var said string
	for ctx.Err() == nil {
		kinds, err := served(ctx, client)
		if err == nil {
			if missing := kinds.missing(); missing != said {
				if said = missing; missing != "" {
					log.Info("kinds of the Gateway API are missing, and are waited for", "missing", missing, "version",
						version.String())
				}
			}
			err = r.run(ctx, log, client, kinds)
		}
		if err != nil && ctx.Err() == nil {
			log.Error(err, "the Gateway API features failed, and are tried again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(r.Every):
		}
	}
	return nil
}

// Kinds are the kinds of the Gateway API that the API server serves in our version, sorted.
type Kinds []string

// Has is true if the API server serves a kind.
func (k Kinds) Has(kind string) bool { return slices.Contains(k, kind) }

func (k Kinds) missing() string {
	var missing []string
	for _, kind := range [...]string{"GatewayClass", "Gateway", "ListenerSet", "TCPRoute", "UDPRoute", "ReferenceGrant"} {
		if !k.Has(kind) {
			missing = append(missing, kind)
		}
	}
	return strings.Join(missing, ", ")
}

func served(ctx context.Context, client discovery.DiscoveryInterface) (Kinds, error) {
	list, err := client.ServerResourcesForGroupVersion(version.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("which kinds of the Gateway API are there: %w", err)
	}
	var found Kinds
	for i := range list.APIResources {
		if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") {
			found = append(found, r.Kind)
		}
	}
	slices.Sort(found)
	return found, ctx.Err()
}

// errOther ends a run because the API server serves other kinds than when the run began.
var errOther = errors.New("the API server serves other kinds of the Gateway API than before")

// run runs the features that can work with these kinds, until the context ends, or until other kinds are served.
func (r *Runner) run(ctx context.Context, log logr.Logger, client discovery.DiscoveryInterface, with Kinds) error {
	features := slices.DeleteFunc(slices.Clone(r.Features), func(f Feature) bool { return !f.Suffices(with) })
	if len(features) == 0 {
		return nil
	}
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), gatewayv1.Install(types)); err != nil {
		return err
	}
	m, err := manager.New(r.Config, manager.Options{
		Scheme: types, Logger: log, Cache: cacheOptions(r.Language, r.Namespaces),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(with), nil },
		Metrics:        metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// a later run in this process has controllers of the same names
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return err
	}
	for _, feature := range features {
		log.Info(feature.Name(), "kinds", strings.Join(with, ", "))
		if err := feature.Setup(ctx, m, with); err != nil {
			return err
		}
	}
	if err := m.Add(
		manager.RunnableFunc(func(ctx context.Context) error { return r.watchKinds(ctx, client, with) })); err != nil {
		return err
	}
	if err := m.Start(ctx); err != nil && !errors.Is(err, errOther) {
		return err
	}
	return nil
}

// watchKinds returns errOther once other kinds are served. If the API server doesn't answer, it goes on watching.
func (r *Runner) watchKinds(ctx context.Context, client discovery.DiscoveryInterface, with Kinds) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.Every):
		}
		if now, err := served(ctx, client); err == nil && now.missing() != with.missing() {
			return errOther
		}
	}
}

// version is that of the Gateway API's kinds.
var version = schema.GroupVersion{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version}

// mapper maps the kinds without discovery.
func mapper(with Kinds) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range with {
		// Gateway's plural isn't the one that the mapper would guess
		name, scope := strings.ToLower(kind), meta.RESTScopeNamespace
		plural := name + "s"
		if kind == "GatewayClass" {
			plural, scope = "gatewayclasses", meta.RESTScopeRoot
		}
		for _, kind := range [...]string{kind, kind + "List"} {
			m.AddSpecific(version.WithKind(kind), version.WithResource(plural), version.WithResource(name), scope)
		}
	}
	for _, kind := range [...]string{"ConfigMap", "ConfigMapList", "Service", "ServiceList"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	for _, kind := range [...]string{"Namespace", "NamespaceList"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	return m
}
