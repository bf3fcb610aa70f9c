package runbook

import (
	"strings"
	"testing"
)

// allotted creates a channel on 20001. 20000 is in grace for a deleted channel, which only the ledger knows.
func (b *book) allotted(t *testing.T) {
	t.Helper()
	b.channel(t, "gone")
	b.awaitPort(t, "gone", "20000")
	b.channel(t, "web")
	b.awaitPort(t, "web", "20001")
	b.Kubectl(t, "delete", "service", "-n", "shop", "gone")
	b.awaitMux(t, "20001")
}

// awaitMux waits for exactly these ports, and for the placeholder, which stays because kubectl applied it.
func (b *book) awaitMux(t *testing.T, want string) {
	t.Helper()
	b.await(t, "ports: 101 "+want+".", "get", "service", "-n", "infra", "mux", "-o",
		"jsonpath=ports: {.spec.ports[*].port}.")
}

// breakIt writes an invalid text into the ledger, and waits until a newcomer's condition says that it waits.
func (b *book) breakIt(t *testing.T, newcomer string) {
	t.Helper()
	b.Kubectl(t, "patch", "configmap", "-n", "infra", "mux-port-allocations", "--type=merge",
		"-p", `{"data":{"allocations.json":"{\"schemaVersion\": 1, \"portClaims\": ["}}`)
	b.channel(t, newcomer)
	b.awaitWaiting(t, newcomer)
}

// TestRunbook is one story: each part leaves what the next one needs.
func TestRunbook(t *testing.T) {
	b := open(t)
	b.Apply(t, shop)
	stop := b.reconcile(t)
	b.allotted(t)

	b.follow(t, "Back up")
	stop()
	b.Kubectl(t, "delete", "service", "-n", "shop", "web")
	b.Kubectl(t, "delete", "service", "-n", "infra", "mux")
	b.Kubectl(t, "delete", "configmap", "-n", "infra", "mux-port-allocations")
	b.follow(t, "Restore a cluster")
	b.reconcile(t)
	b.channel(t, "first")
	b.awaitPort(t, "first", "20002")
	b.awaitPort(t, "web", "20001")
	b.channel(t, "gone")
	b.awaitPort(t, "gone", "20000")

	b.breakIt(t, "mended")
	if said := b.follow(t, "A frozen ledger"); !strings.Contains(said,
		"infra       mux   ConfigMap infra/mux-port-allocations: ") ||
		!strings.HasSuffix(said, `"portClaims": [`) {
		t.Errorf("the commands print\n%s", said)
	}
	// The command that plays the editor knows the former content.
	b.follow(t, "Mend it",
		`KUBE_EDITOR=sed -i 's/"portClaims": \[/"portClaims": []}/; s/portClaims\\": \[/portClaims\\": []}/'`)
	b.awaitPort(t, "mended", "20003")
	b.awaitMux(t, "20000 20001 20002 20003")

	b.breakIt(t, "rebuilt")
	b.follow(t, "Delete it")
	if ports := b.follow(t, "See that it is over"); !strings.HasSuffix(ports, "20000 20001 20002 20003 20004") {
		t.Errorf("the mux has %s", ports)
	}
	b.awaitPort(t, "web", "20001")

	b.follow(t, "A frozen ledger") // leaves a good copy without the next channel
	b.channel(t, "later")
	b.awaitPort(t, "later", "20005")
	b.follow(t, "Put a copy back")
	b.channel(t, "last")
	b.awaitWaiting(t, "last")
	b.follow(t, "Delete it")
	b.awaitPort(t, "last", "20006")
	b.awaitMux(t, "20000 20001 20002 20003 20004 20005 20006")

	b.follow(t, "Hold a mux still")
	b.await(t, "MuxPaused", "get", "events", "-n", "infra", "-o", "jsonpath={.items[*].reason}")
	b.channel(t, "patient")
	b.awaitWaiting(t, "patient")
	b.follow(t, "Let it go on")
	b.awaitPort(t, "patient", "20007")
	if left := b.unread(); len(left) > 0 {
		t.Errorf("commands that didn't run: %q", left)
	}
}
