// Command kubectl is the real kubectl. Tests run it hundreds of times. It starts twice as fast as it would as a part of
// the program that has all components.
package main

import (
	_ "binaries/kubernetes/kubectl/english"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

// main lets kubectl print errors itself, because it formats a Status with causes.
func main() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}
