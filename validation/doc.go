// Package validation is the language of svc-lb-mux: what a mux and a channel are, which annotations they carry, and
// what is wrong with one that could never work.
//
// A Service is parsed once, at the door, into a Mux or a Channel; behind the door nobody looks at an annotation
// string again. Webhook, reconciler and command line all ask this package, so they can't disagree:
//
//	Language.Classify     stranger, mux, channel, or (by mistake) both
//	Language.ParseMux     a Service as a Mux, and what was found about it
//	Language.ParseChannel a Service as a Channel, likewise
//	Language.Check        what was found about a Service, whatever it is
//	Language.Review       the same for a change: old problems don't block it (the ratchet)
//	Language.Typos        what a file may have meant, where slips make its Service somebody else's
//	Language.Keys         every annotation key and condition type that is read or written
//
// What was found comes as Findings: problems, which deny, and warnings, which don't. All of one object's come at
// once, sorted by field; each names the part of the object, the value, and the way out.
//
// Rules here need nothing but the object itself. What needs a second object (is the mux there, is the number free,
// is the namespace allowed on it) is decided in reconciler/plan. Everything is pure: values in, values out; no
// context, client, clock, logger or environment, and no state, so that a Language can be shared freely.
//
// # Grammar
//
// The rules common to all values, chosen so that a ValidatingAdmissionPolicy can say the same in RE2 and CEL:
//
//   - White space is what RE2's \s is: space, tab, newline, form feed, carriage return. It is ignored around
//     values, list entries, and the colon, dash or arrow within an entry.
//   - Lists are separated by commas; empty entries, such as a trailing comma leaves, are skipped. An empty list of
//     what a channel asks for is an empty list. An empty mux setting is a mistake: it could mean all or none.
//   - Numbers are plain decimal digits, one spelling each: no sign, no exponent, no 0x50, no leading zero (080).
//   - A name or a number twice in one list is refused, ranges that overlap included.
//   - "multiplexer" and "disabled" are "true" or "false" to the letter: admission's match conditions compare them.
//     Anything else counts as set, and as a problem, so that a slip is refused or frozen, never ignored.
//   - DNS names are compared in lower case and without a trailing dot.
package validation
