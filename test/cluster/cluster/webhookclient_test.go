package cluster

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestClientCertificatesPageIsWhatAPIServersGet compares docs/client-certificates.md with the files that WebhookClient
// gives a real API server.
func TestClientCertificatesPageIsWhatAPIServersGet(t *testing.T) {
	page, err := os.ReadFile("../../../docs/client-certificates.md")
	if err != nil {
		t.Fatal(err)
	}
	const folder = "/etc/kubernetes/admission/webhooks."
	want := []string{
		fmt.Sprintf(admissionConfig, folder+"kubeconfig"),
		fmt.Sprintf(webhookKubeconfig, "svc-mux-webhook.svc-mux.svc", folder+"crt", folder+"key"),
	}
	blocks := regexp.MustCompile("(?s)\n```yaml\n(.*?)```\n").FindAllSubmatch(page, -1)
	if len(blocks) != len(want) {
		t.Fatalf("the page has %d files, want %d", len(blocks), len(want))
	}
	for i, block := range blocks {
		var said, given any
		if err := yaml.Unmarshal(block[1], &said); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(want[i]), &given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(given, said); diff != "" {
			t.Errorf("file %d (-given +page):\n%s", i+1, diff)
		}
	}
}
