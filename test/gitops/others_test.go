package gitops

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
	"nowake.ai/svc-lb-mux/test/cluster/provider"
	"nowake.ai/svc-lb-mux/test/long"
)

// pressed syncs with Argo CD although nothing differs: every object is applied.
func (w *world) pressed(t *testing.T) {
	for name, flags := range map[string][]string{
		"client-side apply": nil, "server-side apply": {"-server-side-apply", "-server-side-diff"},
	} {
		t.Run(name, func(t *testing.T) {
			if flags == nil {
				long.Only(t, "the tool kubectl-apply applies always, on the client side")
			}
			p := w.place(t, fmt.Sprintf("pressed-%d", len(flags)))
			tool := tool{apply: command("argo", append(flags, "-always")...)}
			w.apply(t, tool, p.repository(t), 1)
			before := w.rested(t, p)
			for _, this := range w.apply(t, tool, p.repository(t), 2) {
				if len(this.Applied) == 0 || len(this.Drift) > 0 {
					t.Errorf("want an apply without drift: %v", this.quiet())
				}
			}
			if after := w.rested(t, p); !maps.Equal(before, after) {
				t.Errorf("objects changed (-before +after):\n%s", cmp.Diff(before, after))
			}
		})
	}
}

// moves applies a copy of the repository with one tool after the other.
func (w *world) moves(t *testing.T) {
	p := w.place(t, "moves")
	for _, name := range []string{"kubectl-apply", "flux", "argo", "kubectl-server-side"} {
		tool := toolNamed(t, name)
		if name == "kubectl-server-side" {
			tool.apply = kubectl("--server-side", "--force-conflicts") // kubectl's error message asks for this flag
		}
		w.apply(t, tool, p.repository(t), 1)
		w.rested(t, p)
		w.asWanted(t, p)
		before := w.rested(t, p)
		if this := w.apply(t, tool, p.repository(t), 1)[0]; len(this.Drift) > 0 {
			t.Errorf("%s: %v", name, this.quiet())
		}
		if after := w.rested(t, p); !maps.Equal(before, after) {
			t.Errorf("%s: objects were written (-before +after):\n%s", name, cmp.Diff(before, after))
		}
	}
}

// replaced runs kubectl replace, which removes every field that isn't in the file.
func (w *world) replaced(t *testing.T) {
	p := w.place(t, "replaced")
	tool := toolNamed(t, "kubectl-apply")
	w.apply(t, tool, p.repository(t), 1)
	w.rested(t, p)
	w.asWanted(t, p)
	for _, command := range [][]string{{"replace", "-f", "-"}, {"replace", "--subresource=status", "-f", "-"}} {
		text := p.repository(t)
		if len(command) > 3 {
			text = p.manifests(t, "repository/channels.yaml") // the provider owns a mux's status
		}
		if _, err := w.TryKubectl(t.Context(), text, command...); err != nil {
			t.Fatal(err)
		}
		w.rested(t, p)
		want := wanted()
		// The placeholder isn't declared any more: kubectl replace leaves no last-applied annotation.
		want["public"], want["edge"] = "20000/TCP 53/TCP 53/UDP 8443/TCP 9100/TCP", "8080/TCP"
		if diff := cmp.Diff(want, w.public(t, p)); diff != "" {
			t.Errorf("after kubectl %v (-want +got):\n%s", command, diff)
		}
	}
	w.apply(t, tool, p.repository(t), 1)
	w.rested(t, p)
	w.asWanted(t, p)
}

// replacedByArgo uses Argo CD's Replace=true: each sync replaces the mux. So only real changes may cause a sync.
func (w *world) replacedByArgo(t *testing.T) {
	p := w.place(t, "argo-replaces")
	manifests := p.manifests(t, "replaced.yaml")
	argo := tool{apply: command("argo")}
	w.apply(t, argo, manifests, 1)
	w.rested(t, p)
	want := w.public(t, p)
	w.apply(t, tool{apply: command("argo", "-always")}, manifests, 1)
	w.rested(t, p)
	if diff := cmp.Diff(want, w.public(t, p)); diff != "" {
		t.Errorf("after a sync (-want +got):\n%s", diff)
	}
	for _, this := range w.apply(t, argo, manifests, 10) {
		if err := this.quiet(); err != nil {
			t.Error(err)
		}
	}
}

// replacedWithoutEnd uses the same mux without `placeholder: keep`. A created or replaced mux has no last-applied
// annotation, so the reconciler removes the placeholder, and Argo CD adds it again.
func (w *world) replacedWithoutEnd(t *testing.T) {
	p := w.place(t, "argo-replaces-again")
	manifests := strings.ReplaceAll(p.manifests(t, "replaced.yaml"), "    "+prefix+"/placeholder: keep\n", "")
	argo := tool{apply: command("argo")}
	for range 3 {
		if this := w.apply(t, argo, manifests, 1)[0]; len(this.Drift) == 0 {
			t.Error("no drift: the docs' warning is outdated")
		}
		w.rested(t, p)
	}
}

// health checks Argo CD's health: a load balancer is healthy once it has an address.
func (w *world) health(t *testing.T) {
	p := w.place(t, "health")
	w.Provider.BehaveTo(p.infra+"/public", provider.Wait)
	tool := toolNamed(t, "argo")
	w.apply(t, tool, p.repository(t), 1)
	healthy := func(public, ofItsChannels string) func(context.Context) error {
		want := map[string]string{}
		for _, name := range []string{"edge", "bare", "kept"} {
			want["Service/"+p.infra+"/"+name] = "Healthy"
		}
		for _, name := range []string{"plain", "shell", "mail"} {
			want["Service/"+p.shop+"/"+name] = "Healthy"
		}
		want["Service/"+p.infra+"/public"] = public
		for _, name := range []string{"web", "api", "dns"} {
			want["Service/"+p.shop+"/"+name] = ofItsChannels
		}
		return func(context.Context) error {
			if diff := cmp.Diff(want, w.apply(t, tool, p.repository(t), 1)[0].Health); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return nil
		}
	}
	cluster.Eventually(t, "the mux without an address and its channels are in progress",
		healthy("Progressing", "Progressing"))
	w.Provider.BehaveTo(p.infra+"/public", provider.Give)
	cluster.Eventually(t, "all are healthy", healthy("Healthy", "Healthy"))
}
