//go:build !k8s_1_33

package main

import (
	"context"

	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func kubeletCommand(ctx context.Context) *cobra.Command { return kubelet.NewKubeletCommand(ctx) }
