// Package archive is the file of `svcmux snapshot`: objects of a cluster, and the API server's refusals.
//
//	archive.go  the contents                     file.go    reads and writes the file
//	record.go   keeps the answers of a cluster   serve.go   answers commands in place of a cluster
//	request.go  requests, and the kinds that a snapshot may have
//
// A snapshot is recorded between the client and the API server, and served at the same place. So commands work with it
// without knowing it.
package archive

import (
	"cmp"
	"time"
)

// Schema is the version of the file. Fields may be added; existing fields don't change.
const Schema = "svc-lb-mux/snapshot/v1"

// Archive is a snapshot of a cluster.
type Archive struct {
	Header
	Objects []Object
}

// Object is an object as JSON has it.
type Object map[string]any

// Header lists the requests that the API server answered. Commands get the same answers from the snapshot, refusals
// included.
type Header struct {
	Schema     string    `json:"schema"`
	Taken      time.Time `json:"taken"`
	Release    string    `json:"release"` // of svcmux
	Kubernetes string    `json:"kubernetes,omitempty"`
	// Namespace is that of the user's context.
	Namespace string `json:"namespace"`
	// Hashed is true if names are hashes.
	Hashed  bool      `json:"hashed,omitempty"`
	Read    []Request `json:"read,omitempty"`    // lists
	Absent  []Request `json:"absent,omitempty"`  // objects and kinds that don't exist
	Refused []Refusal `json:"refused,omitempty"` // by the API server, since the user lacks a right
	Rights  []Right   `json:"rights,omitempty"`  // answers of SubjectAccessReviews
}

// Request asks for an object, or for a list if Name is empty.
type Request struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Selector  string `json:"selector,omitempty"` // of labels
}

// Refusal is a request with the API server's words.
type Refusal struct {
	Request
	Message string `json:"message"`
}

// Right is an answer about a user's right.
type Right struct {
	User        string `json:"user"`
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Allowed     bool   `json:"allowed"`
}

// Kind returns the kind of an object.
func (o Object) Kind() string { return o.text("kind") }

// Namespace returns the namespace of an object.
func (o Object) Namespace() string { return Object(o.fields("metadata")).text("namespace") }

// Name returns the name of an object.
func (o Object) Name() string { return Object(o.fields("metadata")).text("name") }

// labels returns the labels of an object.
func (o Object) labels() map[string]string {
	all := map[string]string{}
	for name, value := range Object(o.fields("metadata")).fields("labels") {
		all[name], _ = value.(string)
	}
	return all
}

func (o Object) text(field string) string {
	text, _ := o[field].(string)
	return text
}

func (o Object) fields(field string) map[string]any {
	fields, _ := o[field].(map[string]any)
	return fields
}

// compare sorts objects by kind, namespace and name.
func compare(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Namespace(), b.Namespace()),
		cmp.Compare(a.Name(), b.Name()))
}
