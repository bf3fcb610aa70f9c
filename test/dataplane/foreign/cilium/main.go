// Command cilium gives load balancers their addresses with the LB IPAM of Cilium's operator. Addresses come from the
// CiliumLoadBalancerIPPools of the cluster that KUBECONFIG names.
//
// The operator's other controllers and its leader election don't run, nor do the agents that would announce an address
// on the network.
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

// settings returns Cilium's defaults, plus L2 announcements: with them, LB IPAM also serves Services of class
// io.cilium/l2-announcer, and not only those without a class.
func settings() *option.DaemonConfig {
	option.Config.EnableIPv4, option.Config.EnableIPv6 = true, true // LB IPAM reads the global config
	option.Config.EnableL2Announcements = true
	return option.Config
}
