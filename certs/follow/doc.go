// Package follow watches a single object by name and reports each change.
//
// It lists and watches with a field selector and stores nothing. It doesn't use the manager's informers: the manager
// waits for all informers before it starts any controller. A kind that isn't installed yet, such as cert-manager's, or
// a missing right would then stop the whole reconciler.
package follow
