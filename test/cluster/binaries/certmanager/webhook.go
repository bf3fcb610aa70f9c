package main

import (
	"context"

	config "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/util/configfile"
	webhookfile "github.com/cert-manager/cert-manager/pkg/webhook/configfile"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/spf13/pflag"
)

// admission is cert-manager's validating and mutating webhook. The library provides its flags, its server and its
// health endpoints.
type admission struct {
	config *config.WebhookConfiguration
}

func newWebhook() (*admission, error) {
	defaults, err := options.NewWebhookConfiguration()
	return &admission{config: defaults}, err
}

func (a *admission) common() common {
	return common{logging: &a.config.Logging, gates: &a.config.FeatureGates}
}

func (a *admission) addFlags(flags *pflag.FlagSet) { options.AddConfigFlags(flags, a.config) }

func (a *admission) readFile(path string) error {
	loader, err := configfile.NewConfigurationFSLoader(nil, path)
	if err != nil {
		return err
	}
	file := webhookfile.New()
	if err := loader.Load(file); err != nil {
		return err
	}
	a.config = file.Config
	return nil
}

func (a *admission) run(ctx context.Context) error {
	if _, err := connect(ctx, a.config.APIServerHost, a.config.KubeConfig, "webhook"); err != nil {
		return err
	}
	server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *a.config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
