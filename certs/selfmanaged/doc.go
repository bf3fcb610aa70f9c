// Package selfmanaged makes and renews the webhook's certificate without cert-manager. It keeps an authority and a leaf
// signed by it in one Secret, and writes the CA bundle into the webhook's configuration.
//
//	read     Secret and configuration -> State                              PURE
//	decide   State, the bundles, the time -> the next write, and when to look again   PURE
//	forge    keys and certificates, by crypto/x509
//	Keeper   observes, decides, applies one write, and starts again
//
// API servers must trust every leaf that a pod may serve. An API server sees a new bundle within moments, but a pod
// sees a new Secret only after minutes. So an authority is added to the bundle before it signs, and removed from it
// last:
//
//	        Secret                      bundle
//	        ca A, leaf by A             A
//	1.      ca A, next B, leaf by A     A
//	2.                                  A B         for Trusted
//	3.      ca B, old A, leaf by B      A B         for Overlap: pods may still serve A's leaf
//	4.                                  B
//	5.      ca B, leaf by B             B
//
// The Secret holds all state: the next leader continues from it. A Secret that is lost or can't be read is made again
// in the same order. The authority of the served leaf is then taken from the bundle.
package selfmanaged
