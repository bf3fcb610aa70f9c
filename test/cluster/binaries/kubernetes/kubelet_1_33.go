//go:build k8s_1_33

package main

import (
	"context"

	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// The kubelet's command takes a context from Kubernetes 1.34 on.
func kubeletCommand(context.Context) *cobra.Command { return kubelet.NewKubeletCommand() }
