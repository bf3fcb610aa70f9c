package cluster

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImagesOfOurDockerfileRun builds the images as a user does, and runs them as restricted pods on a real node.
func TestImagesOfOurDockerfileRun(t *testing.T) {
	t.Parallel()
	requireNodes(t)
	dist := t.TempDir()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const version = "0.0.0-test"
	build := exec.Command("make", "image", "DIST="+dist, "VERSION="+version)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	c := Start(t, Nodes(1, filepath.Join(dist, "webhook.tar"), filepath.Join(dist, "reconciler.tar"),
		filepath.Join(dist, "gateway.tar")))
	for _, name := range []string{"webhook", "reconciler", "gateway"} {
		c.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: `+name+`}
spec:
  restartPolicy: Never
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: main
    image: localhost/svc-lb-mux/`+name+`:`+version+`
    args: [--version]
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`)
		c.Kubectl(t, "wait", "pod/"+name, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
		if said := c.Kubectl(t, "logs", name); !strings.Contains(said, version) {
			t.Errorf("the image of %s prints %q", name, said)
		}
	}
}
