package run

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"nowake.ai/svc-lb-mux/certs"
	"nowake.ai/svc-lb-mux/certs/guard"
	"nowake.ai/svc-lb-mux/reconciler/console"
)

// certificateInterval is the time between two reads of the console's certificate.
const certificateInterval = 10 * time.Second

// addConsole adds the console to the manager, if it is enabled. A failure to listen is only logged: a console that
// can't be shown must not stop the reconciler.
func (p Process) addConsole(m *processManager, terms *terms, timeline *console.Timeline, watching *guard.Guard,
	registry *prometheus.Registry, log logr.Logger) error {
	o := &p.Options
	if !o.Console.Yes() {
		return nil
	}
	log = log.WithName("console")
	listener, err := net.Listen("tcp", o.ConsoleAddress)
	if err != nil {
		log.Error(err, "the console isn't served: give it another --console-address (DEBUG_WEB_PORT), or set --console=false")
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		name = "reconciler"
	}
	options := console.Options{
		Language: m.language, Line: terms, Cache: m.GetCache(), Timeline: timeline, Leading: terms.leads.Load,
		Metrics: registry,
		Log:     log, Now: p.Now, Name: name, Version: p.Version, DryRun: p.dry(), Token: o.ConsoleToken,
		Actions: o.ConsoleActions.Yes(), Dial: p.Dial,
	}
	if o.ConsoleAuth == authKubernetes {
		options.Review = newReviewer(m.set, o)
	}
	if o.ConsoleTraffic.Yes() {
		options.Gateways = gatewaysIn(m.set, o.Namespace, m.language.Keys())
	}
	if watching != nil {
		options.Admission = watching.Status
	}
	certificate, err := p.consoleCertificate(m)
	if err != nil {
		return err
	}
	log.Info("serving", "consoleAddress", listener.Addr().String(), "auth", o.ConsoleAuth, "token", o.ConsoleToken != "",
		"tls", certificate != nil,
		"actions", o.ConsoleActions.Yes())
	return console.New(options).Add(m, listener, certificate)
}

// consoleCertificate follows the files of the console's certificate. Without such files it returns nil. The
// certificate's state is only logged, without metrics: the metrics of certs describe the webhook's certificate.
func (p Process) consoleCertificate(m manager.Manager) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	o := &p.Options
	if o.ConsoleCert == "" {
		return nil, nil
	}
	level, err := o.level()
	if err != nil {
		return nil, err
	}
	files := certs.NewFiles(certs.FilesOptions{
		CertFile: o.ConsoleCert, KeyFile: o.ConsoleKey, Interval: certificateInterval,
	}, newZap(level, p.Logs).Named("console"), prometheus.NewRegistry())
	return files.GetCertificate, m.Add(everyReplica(func(ctx context.Context) error {
		files.Run(ctx)
		return nil
	}))
}

// everyReplica runs in every replica, also in one that doesn't lead.
type everyReplica func(context.Context) error

func (e everyReplica) Start(ctx context.Context) error { return e(ctx) }

func (everyReplica) NeedLeaderElection() bool { return false }
