// Package follow tells of one object of the API server by its name: how it is now, and each time it changes.
//
// It is a list and a watch with a field selector, and nothing is kept. An informer of the manager's cache would do the
// same, but the manager waits for all of its informers before anything is decided: a kind that isn't there yet, as
// cert-manager's, or a right that is missing, would stop the whole reconciler. What follows here harms nobody else.
package follow
