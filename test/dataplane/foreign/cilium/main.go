// Command cilium gives load balancers their addresses as Cilium's operator does, with the operator's own LB IPAM: addresses
// come from the CiliumLoadBalancerIPPools of the cluster that KUBECONFIG names.
//
// The rest of the operator isn't here: its other controllers, its leader election, and the agents that would bring an
// address to the network.
package main

import (
	"fmt"
	"os"

	"github.com/cilium/cilium/operator/pkg/lbipam"
	"github.com/cilium/cilium/pkg/hive"
	"github.com/cilium/cilium/pkg/hive/cell"
	"github.com/cilium/cilium/pkg/hive/job"
	"github.com/cilium/cilium/pkg/k8s"
	"github.com/cilium/cilium/pkg/k8s/client"
	"github.com/cilium/cilium/pkg/option"
)

func main() {
	operator := hive.New(
		client.Cell,
		job.Cell,
		cell.Config(k8s.DefaultConfig),
		cell.Provide(k8s.ServiceResource, k8s.LBIPPoolsResource, settings),
		lbipam.Cell,
	)
	operator.Viper().Set(option.K8sKubeConfigPath, os.Getenv("KUBECONFIG"))
	if err := operator.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings are Cilium's own defaults, and L2 announcements: with them, Services of class io.cilium/l2-announcer are its
// too, and not only those of no class.
func settings() *option.DaemonConfig {
	option.Config.EnableIPv4, option.Config.EnableIPv6 = true, true // LB IPAM reads these where they are
	option.Config.EnableL2Announcements = true
	return option.Config
}
