// Package static is a pool of addresses from ranges that the admin lists: networks such as 192.0.2.0/24, and ranges
// such as 192.0.2.10-192.0.2.20. It holds no state of its own: it is made from the claims for each pass, and the caller
// records the chosen addresses.
package static
