package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestStartIsQuick fails if the program imports a package that registers all of Kubernetes' kinds when it starts. Every
// command would pay for it, also svcmux validate, which needs none of them.
func TestStartIsQuick(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, slow := range []string{"k8s.io/client-go/kubernetes/scheme", "sigs.k8s.io/controller-runtime/pkg/client",
		"k8s.io/client-go/discovery"} {
		if strings.Contains("\n"+string(out), "\n"+slow+"\n") {
			t.Errorf("svcmux imports %s", slow)
		}
	}
}
