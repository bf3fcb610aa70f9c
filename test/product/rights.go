package product

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"nowake.ai/svc-lb-mux/test/cluster/cluster"
)

// Right is a single right of a role, or the right that a request needs. The namespace "" means all.
type Right struct {
	Namespace, Group, Resource, Verb, Name string
}

func (r Right) String() string {
	where := "in " + r.Namespace
	if r.Namespace == "" {
		where = "anywhere"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s.%s %s %s", r.Verb, r.Resource, r.Group, r.Name, where)), " ")
}

// allows returns whether the right is enough for a request.
func (r Right) allows(request Right) bool {
	return (r.Namespace == "" || r.Namespace == request.Namespace) && (r.Name == "" || r.Name == request.Name) &&
		r.Group == request.Group && r.Resource == request.Resource && r.Verb == request.Verb
}

// Rights returns the rights that the roles in manifests grant.
func Rights(t testing.TB, manifests string) []Right {
	t.Helper()
	var granted []Right
	for text := range strings.SplitSeq(manifests, "\n---") {
		var role rbacv1.Role // a ClusterRole's rules have the same form
		if err := yaml.Unmarshal([]byte(text), &role); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(role.Kind, "Role") {
			granted = append(granted, rightsOf(&role)...)
		}
	}
	return granted
}

func rightsOf(role *rbacv1.Role) []Right {
	var rights []Right
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						rights = append(rights, Right{role.Namespace, group, resource, verb, name})
					}
				}
			}
		}
	}
	return rights
}

// CompareRights fails the test for each request of an account that was refused or that no right in granted or others
// allows, and for each granted right on which no request depended. The audit log has a watch only after its end, which
// the API server notices a moment after the client.
func CompareRights(t testing.TB, c *cluster.Cluster, account string, granted []Right, others ...Right) {
	t.Helper()
	var requests, superfluous []Right
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		requests = Requests(t, c, account)
		superfluous = unused(granted, requests)
		if len(superfluous) == 0 || t.Failed() || time.Now().After(deadline) {
			break
		}
	}
	for _, request := range requests {
		if !slices.ContainsFunc(slices.Concat(granted, others), func(r Right) bool { return r.allows(request) }) {
			t.Errorf("the chart doesn't grant %s", request)
		}
	}
	for _, right := range superfluous {
		t.Errorf("the chart grants a superfluous right: %s", right)
	}
}

// unused returns the superfluous rights: without any one of them, the others still allow every request.
func unused(granted, requests []Right) []Right {
	needed := map[Right]bool{}
	for _, request := range requests {
		by := slices.DeleteFunc(slices.Clone(granted), func(r Right) bool { return !r.allows(request) })
		if len(by) == 1 {
			needed[by[0]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(granted), func(r Right) bool { return needed[r] })
}

// Requests returns the different requests of an account, from the API server's audit log.
func Requests(t testing.TB, c *cluster.Cluster, account string) []Right {
	t.Helper()
	events, err := c.Audited()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Right]bool{}
	var requests []Right
	for _, event := range events {
		if event.User.Username != account || event.ObjectRef.Resource == "" {
			continue
		}
		object := event.ObjectRef
		request := Right{object.Namespace, groupOf(event.RequestURI), object.Resource, event.Verb, object.Name}
		if object.Subresource != "" {
			request.Resource += "/" + object.Subresource
		}
		if event.Verb == "create" {
			request.Name = "" // a role can't restrict a create by name
		}
		if event.ResponseStatus.Code == 403 {
			t.Errorf("refused: %s", request)
		}
		all := []Right{request}
		if event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true") {
			all = append(all, request) // a client lists instead, if the API server is older than streamed lists
			all[1].Verb = "list"
		}
		for _, request := range all {
			if !seen[request] {
				seen[request] = true
				requests = append(requests, request)
			}
		}
	}
	if len(requests) == 0 {
		t.Errorf("no requests of %s", account)
	}
	return requests
}

// groupOf returns the API group of a path: /apis/GROUP/VERSION/…, or the core group for /api/VERSION/….
func groupOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 2 && parts[1] == "apis" {
		return parts[2]
	}
	return ""
}
