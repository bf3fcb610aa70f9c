package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cert-manager/cert-manager/internal/kube"
	"github.com/cert-manager/cert-manager/pkg/util"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// apiPatience is long enough for an API server that starts at the same time.
const apiPatience = 20 * time.Second

// connect reads the kubeconfig, or the pod's account, and waits until the API server answers. Otherwise informers would
// retry a wrong address for ever, and the process would look healthy.
//
// The user agent matters: cainjector takes its field manager from it, and server-side apply is refused without one.
func connect(ctx context.Context, server, kubeconfig, component string) (*rest.Config, error) {
	config, err := kube.BuildClientConfig(server, kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the client configuration: %w", err)
	}
	config = util.RestConfigWithUserAgent(config, component)
	probe := rest.CopyConfig(config)
	probe.QPS = -1 // no rate limit: it could be the last error instead of the server's
	client, err := discovery.NewDiscoveryClientForConfig(probe)
	if err != nil {
		return nil, fmt.Errorf("reading the client configuration: %w", err)
	}
	err = retry(ctx, 250*time.Millisecond, apiPatience, func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	})
	if err != nil {
		return nil, fmt.Errorf("the API server %s didn't answer in %s: %w", config.Host, apiPatience, err)
	}
	return config, nil
}

// retry retries until success or the end of patience. It returns the last error of a try that failed by itself:
// "context deadline exceeded" would hide the reason.
func retry(ctx context.Context, every, patience time.Duration, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, every, patience, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return last
}
