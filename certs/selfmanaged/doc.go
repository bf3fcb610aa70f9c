// Package selfmanaged keeps the webhook's certificate where no cert-manager does: an authority of its own, a leaf that it
// signs, both in one Secret, and the bundle that API servers trust, in the webhook's configuration.
//
//	read     Secret and configuration -> State                              PURE
//	decide   State, what is trusted, the time -> the next write, and when to look again   PURE
//	forge    keys and certificates, by crypto/x509
//	Keeper   observes, decides, applies one write, and begins anew
//
// An API server must trust whatever leaf a pod may serve. It learns of a new bundle within moments, but a pod learns of a
// new Secret within minutes. So trust comes first and goes last:
//
//	        Secret                      bundle
//	        ca A, leaf by A             A
//	1.      ca A, next B, leaf by A     A
//	2.                                  A B         for Trusted
//	3.      ca B, old A, leaf by B      A B         for Overlap: pods may serve A's leaf still
//	4.                                  B
//	5.      ca B, leaf by B             B
//
// The Secret is the memory: whoever leads next goes on from there. A Secret that is lost, or can't be read, is made anew
// in the same order; what authority its leaf had is then known from the bundle.
package selfmanaged
