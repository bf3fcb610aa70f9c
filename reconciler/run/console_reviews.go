package run

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"nowake.ai/svc-lb-mux/reconciler/console"
)

// consoles is a resource for RBAC rules only; no API server has it. Its group is the API prefix. The object has the
// lease's name. The verb get allows to read the console, create to test connections.
const consoles = "consoles"

// newReviewer returns a reviewer that asks the API server for a token's user, and then for that user's right to the
// console. It needs the rights to create TokenReviews, and LocalSubjectAccessReviews in this namespace.
func newReviewer(set kubernetes.Interface, o *Options) console.Reviewer {
	namespace, group, name := o.Namespace, o.APIPrefix, o.LeaseName
	return func(ctx context.Context, token string, act bool) (console.Opinion, error) {
		who, err := set.AuthenticationV1().TokenReviews().Create(ctx,
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil {
			return console.Opinion{}, fmt.Errorf("a TokenReview: %w", err)
		}
		if !who.Status.Authenticated {
			return console.Opinion{}, nil
		}
		verb := "get"
		if act {
			verb = "create"
		}
		asked := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: who.Status.User.Username, UID: who.Status.User.UID, Groups: who.Status.User.Groups,
				Extra: extraOf(who.Status.User.Extra),
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Group: group, Resource: consoles, Name: name, Verb: verb,
				},
			},
		}
		may, err := set.AuthorizationV1().LocalSubjectAccessReviews(namespace).Create(ctx, asked, metav1.CreateOptions{})
		if err != nil {
			return console.Opinion{}, fmt.Errorf("a LocalSubjectAccessReview in %s: %w", namespace, err)
		}
		return console.Opinion{
			Known: true, Allowed: may.Status.Allowed && !may.Status.Denied,
			Why: fmt.Sprintf("%s may not %s %s.%s %q in namespace %s: ask an administrator to bind you to a Role there with "+
				"apiGroups [%[4]s], resources [%[3]s], verbs [%[2]s]", who.Status.User.Username, verb, consoles, group, name,
				namespace),
		}, nil
	}
}

func extraOf(extra map[string]authenticationv1.ExtraValue) map[string]authorizationv1.ExtraValue {
	if extra == nil {
		return nil
	}
	all := make(map[string]authorizationv1.ExtraValue, len(extra))
	for key, values := range extra {
		all[key] = authorizationv1.ExtraValue(values)
	}
	return all
}
