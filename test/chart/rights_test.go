package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRights(t *testing.T) {
	if roles := all[*rbacv1.ClusterRole](render(t, "--set=rbac.create=false")); len(roles) > 0 {
		t.Errorf("rbac.create=false renders %v", roles)
	}
	objects := render(t, "--set=rbac.muxNamespaces={infra,team-a}")
	var namespaces []string
	for _, role := range all[*rbacv1.Role](objects) {
		if role.Name == "svc-mux.infra.muxes" {
			namespaces = append(namespaces, role.Namespace)
		}
	}
	if diff := cmp.Diff([]string{"infra", "team-a"}, namespaces); diff != "" {
		t.Errorf("roles in mux namespaces (-want +got):\n%s", diff)
	}
	says(t, strings.Join(args(t, objects, "svc-mux"), " "), "--mux-namespaces=infra,team-a")
	for _, binding := range all[*rbacv1.ClusterRoleBinding](render(t,
		"--set=serviceAccount.create=false,serviceAccount.name=theirs")) {
		if subject := binding.Subjects[0]; subject.Namespace != namespace || subject.Name != "theirs" &&
			subject.Name != "svc-mux-webhook" {
			t.Errorf("%s binds %v", binding.Name, subject)
		}
	}
	none := render(t, "--set=serviceAccount.create=false,serviceAccount.name=theirs")
	if accounts := all[*corev1.ServiceAccount](none); len(accounts) != 2 { // the webhook's and the test's
		t.Errorf("accounts: %v", accounts)
	}
}

// TestUninstallHookHasTheReconcilersRights checks that the uninstall hook has the reconciler's rights while it runs: by
// then the release's own rights are gone.
func TestUninstallHookHasTheReconcilersRights(t *testing.T) {
	objects := render(t, "--set=drain.onDelete=true,rbac.muxNamespaces={infra,team-a}")
	rules := map[string][]rbacv1.PolicyRule{}
	for _, role := range all[*rbacv1.ClusterRole](objects) {
		rules[role.Name] = role.Rules
	}
	for _, role := range all[*rbacv1.Role](objects) {
		rules[role.Namespace+"/"+role.Name] = role.Rules
	}
	for _, name := range []string{"svc-mux.infra", "infra/svc-mux.infra.muxes", "team-a/svc-mux.infra.muxes",
		"infra/svc-mux-lease"} {
		if diff := cmp.Diff(rules[name], rules[name+".drain"]); diff != "" || len(rules[name]) == 0 {
			t.Errorf("%s (-reconciler +goodbye):\n%s", name, diff)
		}
	}
	for _, object := range objects {
		meta := object.(metav1.Object)
		if strings.HasSuffix(meta.GetName(), "drain") && meta.GetAnnotations()["helm.sh/hook"] != "post-delete" {
			t.Errorf("%s exists outside of the hook", meta.GetName())
		}
	}
	for _, binding := range all[*rbacv1.RoleBinding](objects) {
		if strings.HasSuffix(binding.Name, ".drain") &&
			(binding.RoleRef.Name != binding.Name || binding.Subjects[0].Name != "svc-mux-drain") {
			t.Errorf("%s binds %v to %v", binding.Name, binding.Subjects, binding.RoleRef)
		}
	}
}

// TestHelmTestHasLogs checks that each test hook is a pod that stays: `helm test --logs` reads the log of each.
func TestHelmTestHasLogs(t *testing.T) {
	objects := render(t)
	tests := 0
	for _, object := range objects {
		meta := object.(metav1.Object)
		if meta.GetAnnotations()["helm.sh/hook"] != "test" {
			continue
		}
		tests++
		if _, is := object.(*corev1.Pod); !is {
			t.Errorf("%T %s is a test hook, but no pod", object, meta.GetName())
		}
		if policy := meta.GetAnnotations()["helm.sh/hook-delete-policy"]; policy != "before-hook-creation" {
			t.Errorf("%s is deleted before helm reads its log: %s", meta.GetName(), policy)
		}
	}
	if tests != 1 {
		t.Errorf("%d tests", tests)
	}
	named[*rbacv1.Role](t, objects, "svc-mux-test")
	for _, role := range all[*rbacv1.Role](render(t, "--set=rbac.create=false")) {
		if strings.Contains(role.Name, "test") {
			t.Errorf("rbac.create=false renders %s", role.Name)
		}
	}
}

// TestRestrictedEndpointsAreGrantedOnRequest checks a right that only OpenShift requires and knows.
func TestRestrictedEndpointsAreGrantedOnRequest(t *testing.T) {
	grants := func(flags ...string) (granted int) {
		for _, role := range all[*rbacv1.Role](render(t, append(flags, "--set=rbac.muxNamespaces={infra,team-a}")...)) {
			for _, rule := range role.Rules {
				if slices.Contains(rule.Resources, "endpointslices/restricted") && slices.Equal(rule.Verbs, []string{"create"}) {
					granted++
				}
			}
		}
		return granted
	}
	if got := grants(); got != 0 {
		t.Errorf("the right is granted in %d namespaces by default", got)
	}
	if got := grants("--set=rbac.restrictedEndpoints=true"); got != 2 {
		t.Errorf("the right is granted in %d namespaces", got)
	}
}
