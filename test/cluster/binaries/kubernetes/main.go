// Command kubernetes contains etcd and every Kubernetes component that test/cluster starts, in one program.
//
// The name it is called by selects the component (there is a symbolic link for each), or else the first argument. One
// program needs much less of the disk, and of the linker's time, than six.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJobs with a time zone

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	components := map[string]func(){
		"etcd":                    func() { etcdmain.Main(os.Args) },
		"kube-apiserver":          run(apiserver.NewAPIServerCommand),
		"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
		"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kube-proxy":              run(proxy.NewProxyCommand),
		"kubelet":                 run(func() *cobra.Command { return kubeletCommand(context.Background()) }),
	}
	start, ok := components[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		start, ok = components[os.Args[1]]
		os.Args = os.Args[1:]
	}
	if !ok {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "call this binary by one of these names: %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	start()
}

func run(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}
