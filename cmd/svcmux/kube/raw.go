package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// JSON reads a path of the API into a value, for kinds of which few fields are needed. Of a list, it reads the first
// page. It returns false if the object or the kind doesn't exist.
func (c *Cluster) JSON(ctx context.Context, path string, into any) (bool, error) {
	return c.parsed(path,
		c.core.Get().AbsPath(path).Param("limit", page).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx), into)
}

// JSONList reads a list of objects with a label into a value, at most 500 of them. It returns false if the kind doesn't
// exist.
func (c *Cluster) JSONList(ctx context.Context, path, label string, into any) (bool, error) {
	request := c.core.Get().AbsPath(path).Param("limit", page).Param("labelSelector", label)
	return c.parsed(path, request.SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx), into)
}

// JSONPages calls add with each page of the list at a path. It returns false if the kind doesn't exist.
func JSONPages[T any](ctx context.Context, c *Cluster, path string, add func(items []T)) (bool, error) {
	rest := ""
	for {
		var list struct {
			Metadata struct{ Continue string }
			Items    []T
		}
		request := c.core.Get().AbsPath(path).Param("limit", page)
		if rest != "" {
			request = request.Param("continue", rest)
		}
		found, err := c.parsed(path, request.SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx), &list)
		if !found || err != nil {
			return found, err
		}
		add(list.Items)
		if rest = list.Metadata.Continue; rest == "" {
			return true, nil
		}
	}
}

// May asks the API server whether a user has a right.
func (c *Cluster) May(ctx context.Context, user string, right Right) (bool, error) {
	const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": user, "resourceAttributes": right},
	})
	if err != nil {
		return false, err
	}
	answer := c.core.Post().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).SetHeader("Content-Type",
		runtime.ContentTypeJSON).Body(body).Do(ctx)
	var review struct {
		Status struct{ Allowed bool }
	}
	_, err = c.parsed(path, answer, &review)
	return review.Status.Allowed, err
}

// Right is a right in a namespace, or in all namespaces if Namespace is empty.
type Right struct {
	Verb        string `json:"verb"`
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
}

func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Namespace != "" {
		return text + " in " + r.Namespace
	}
	return text
}

func (c *Cluster) parsed(path string, answer rest.Result, into any) (bool, error) {
	err := answer.Error() // the error of Raw lacks the API server's words
	if isMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, c.explain(err)
	}
	data, _ := answer.Raw()
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("the API server %s answers %s with something that can't be read: %w", c.Server, path, err)
	}
	return true, nil
}
