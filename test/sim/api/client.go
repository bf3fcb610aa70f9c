package api

import (
	"context"
	"errors"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is a client of a Server. Every call goes through Do, which may delay or drop it, and returns the result.
// Methods that the reconciler doesn't use aren't implemented and panic.
type Client struct {
	client.Client
	Server *Server
	Do     func(call *Call) error
}

// Call is a request.
type Call struct {
	Verb string // get, list, create, update, patch or delete; with "/status" for the subresource
	Kind Kind
	// Namespace is that of a list; empty for a list of all namespaces.
	Namespace string
	// Object is the client's object. Only its name is always set.
	Object client.Object
	Body   []byte // body of a patch
	DryRun bool   // the patch is a dry run: nothing is stored
	// Run sends the request to the server.
	Run func() error
}

func (c *Client) do(call *Call) error {
	if c.Do == nil {
		return call.Run()
	}
	return c.Do(call)
}

// into copies the server's answer into the caller's object.
func into(obj, answer client.Object) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(answer).Elem())
}

// Get implements client.Client.
func (c *Client) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetNamespace(key.Namespace)
	obj.SetName(key.Name)
	return c.do(&Call{Verb: "get", Kind: KindOf(obj), Object: obj, Run: func() error {
		answer, err := c.Server.Get(KindOf(obj), key)
		if err == nil {
			into(obj, answer)
		}
		return err
	}})
}

// List implements client.Client.
func (c *Client) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	return c.do(&Call{Verb: "list", Kind: KindOf(list), Namespace: o.Namespace, Run: func() error {
		selector := o.LabelSelector
		if selector == nil {
			selector = labels.Everything()
		}
		past, err := exact(o.Raw)
		if err != nil {
			return err
		}
		objects, at, err := c.Server.List(KindOf(list), selector, past)
		if err != nil {
			return err
		}
		var items []runtime.Object
		for _, obj := range objects {
			if o.Namespace == "" || o.Namespace == obj.GetNamespace() {
				items = append(items, obj.DeepCopyObject())
			}
		}
		if o.Limit > 0 && int64(len(items)) > o.Limit {
			items = items[:o.Limit]
		}
		list.SetResourceVersion(strconv.FormatInt(at, 10))
		if named, is := list.(*metav1.PartialObjectMetadataList); is {
			for _, item := range items {
				named.Items = append(named.Items, *meta.AsPartialObjectMetadata(item.(metav1.Object)))
			}
			return nil
		}
		return meta.SetList(list, items)
	}})
}

// exact returns the version for which a list of the past asks, or 0 for a list of the present.
func exact(raw *metav1.ListOptions) (int64, error) {
	if raw == nil || raw.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
		return 0, nil
	}
	version, err := strconv.ParseInt(raw.ResourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(err.Error())
	}
	return version, nil
}

// Create implements client.Client.
func (c *Client) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return c.do(&Call{Verb: "create", Kind: KindOf(obj), Object: obj, Run: func() error {
		answer, err := c.Server.Create(obj)
		if err == nil {
			into(obj, answer)
		}
		return err
	}})
}

// Update implements client.Client.
func (c *Client) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return c.update(obj, false)
}

func (c *Client) update(obj client.Object, status bool) error {
	return c.do(&Call{Verb: verb("update", status), Kind: KindOf(obj), Object: obj, Run: func() error {
		answer, err := c.Server.Update(obj, status)
		if err == nil {
			into(obj, answer)
		}
		return err
	}})
}

func verb(name string, status bool) string {
	if status {
		return name + "/status"
	}
	return name
}

// Patch implements client.Client.
func (c *Client) Patch(_ context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	var o client.PatchOptions
	o.ApplyOptions(options)
	return c.patch(obj, patch, false, len(o.DryRun) > 0)
}

func (c *Client) patch(obj client.Object, patch client.Patch, status, dryRun bool) error {
	body, err := patch.Data(obj)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(obj)
	return c.do(&Call{Verb: verb("patch", status), Kind: KindOf(obj), Object: obj, Body: body, DryRun: dryRun,
		Run: func() error {
			run := func() (client.Object, error) { return c.Server.Patch(KindOf(obj), key, patch.Type(), body, status) }
			if dryRun {
				run = func() (client.Object, error) { return c.Server.DryRun(KindOf(obj), key, patch.Type(), body) }
			}
			answer, err := run()
			if err == nil {
				into(obj, answer)
			}
			return err
		}})
}

// Delete implements client.Client.
func (c *Client) Delete(_ context.Context, obj client.Object, options ...client.DeleteOption) error {
	var o client.DeleteOptions
	o.ApplyOptions(options)
	key := client.ObjectKeyFromObject(obj)
	return c.do(&Call{Verb: "delete", Kind: KindOf(obj), Object: obj, Run: func() error {
		return c.Server.Delete(KindOf(obj), key, o.Preconditions)
	}})
}

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return statusClient{Client: c} }

type statusClient struct {
	client.SubResourceWriter
	*Client
}

var errNoBody = errors.New("writing a status with a separate body isn't implemented")

func (s statusClient) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errNoBody
}

func (s statusClient) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.update(obj, true)
}

func (s statusClient) Patch(_ context.Context, obj client.Object, patch client.Patch,
	_ ...client.SubResourcePatchOption) error {
	return s.patch(obj, patch, true, false)
}

func (s statusClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errNoBody
}
