package webhook

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"nowake.ai/svc-lb-mux/certs"
)

// Run serves until the context ends, then drains, and returns nil. It returns an error if serving fails. Its log goes
// to logs.
func Run(ctx context.Context, options Options, version string, logs io.Writer) error {
	p, err := newProcess(options, version, logs)
	if err != nil {
		return err
	}
	return p.run(ctx)
}

// process holds the parts of a running webhook.
type process struct {
	options   Options
	log       *zap.Logger
	files     *certs.Files
	clients   *certs.Clients // nil if clients need no certificate
	state     *state
	admission server
	probes    server
	// follow keeps the predictor up to date; nil if predictions are off.
	follow func(context.Context)
	sleep  func(time.Duration)
}

// newProcess opens the listeners at once, so that a bad address fails before anything runs.
func newProcess(options Options, version string, logs io.Writer) (*process, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	lang, _ := options.language()
	level, _ := options.level()
	log := newLog(level, logs)
	registry := newRegistry(version)
	files := certs.NewFiles(certs.FilesOptions{
		CertFile: filepath.Join(options.CertDir, options.CertName),
		KeyFile:  filepath.Join(options.CertDir, options.KeyName),
		Interval: options.CertInterval,
	}, log, registry)
	state := &state{certificate: files.Ready, remarks: []func() string{files.Remark}}
	var clients *certs.Clients
	if options.ClientCA != "" {
		clients = certs.NewClients(options.ClientCA, options.clientNames(), options.CertInterval, log)
		state.clients, state.remarks = clients.Ready, append(state.remarks, clients.Remark)
	}

	admission, err := net.Listen("tcp", options.Address)
	if err != nil {
		return nil, fmt.Errorf("--address %q: %w", options.Address, err)
	}
	probes, err := net.Listen("tcp", options.ProbeAddress)
	if err != nil {
		admission.Close()
		return nil, fmt.Errorf("--probe-address %q: %w", options.ProbeAddress, err)
	}
	log.Info("starting", zap.String("version", version), zap.Stringer("address", admission.Addr()),
		zap.Stringer("probeAddress", probes.Addr()), zap.String("apiPrefix", lang.Prefix()),
		zap.String("defaultMuxNamespace", lang.DefaultMuxNamespace()))
	predictor, follow := newPredictor(options, lang, version, log, registry)
	return &process{
		options: options, log: log, files: files, clients: clients, state: state,
		admission: server{
			admissionServer(state.closeIfDraining(routes(newHandler(lang, predictor, options.muxNamespaces(), log, registry))),
				files, clients, log),
			limitConnections(admission, maxConnections)},
		probes: server{probeServer(probeRoutes(state, registry), log), probes},
		follow: follow,
		sleep:  time.Sleep,
	}, nil
}

// run returns when all its goroutines have ended.
func (p *process) run(ctx context.Context) error {
	following, stop := context.WithCancel(context.WithoutCancel(ctx)) // certificates are followed until the end
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()

	failed := make(chan error, 2)
	running.Go(func() { p.files.Run(following) })
	if p.clients != nil {
		running.Go(func() { p.clients.Run(following) })
	}
	if p.follow != nil {
		running.Go(func() { p.follow(following) })
	}
	running.Go(func() { failed <- p.admission.serveTLS() })
	running.Go(func() { failed <- p.probes.serve() })

	select {
	case <-ctx.Done():
		p.drain()
		return nil
	case err := <-failed:
		p.admission.close()
		p.probes.close()
		return err
	}
}

func newLog(level zapcore.Level, to io.Writer) *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.TimeKey = "time"
	encoder.EncodeTime, encoder.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.StringDurationEncoder
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(zapcore.AddSync(to)), level))
}
