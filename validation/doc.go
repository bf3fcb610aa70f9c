// Package validation is the language of svc-lb-mux: it defines muxes and channels and their annotations, and finds the
// mistakes in them.
//
// A Service is parsed once into a Mux or a Channel. Later code uses these types, not annotation strings. Webhook,
// reconciler and command line share this package, so they always agree:
//
//	Language.Classify     stranger, mux, channel, or (by mistake) both
//	Language.ParseMux     a Service as a Mux, with its findings
//	Language.ParseChannel a Service as a Channel, with its findings
//	Language.Check        the findings of any Service
//	Language.Review       the same for a change: old problems don't block it (the ratchet)
//	Language.Typos        warnings for files: typos that make a Service neither mux nor channel
//	Language.Keys         every annotation key and condition type that is read or written
//
// Findings are problems, which deny, and warnings, which don't. All findings of an object are returned together, sorted
// by field. Each names the field, the value, and how to correct it.
//
// Rules here need only the object itself. Rules that need other objects (does the mux exist, is the number free, may
// the namespace attach) are decided in reconciler/numbers/plan. The package is pure: values in, values out; no context,
// client, clock, logger or environment, and no state. So a Language can be shared freely.
//
// # Grammar
//
// These rules hold for all values. A ValidatingAdmissionPolicy can express them in RE2 and CEL:
//
//   - White space is RE2's \s: space, tab, newline, form feed, carriage return. It is ignored around values, list
//     entries, and the colon, dash or arrow within an entry.
//   - Lists are separated by commas. Empty entries, such as after a trailing comma, are skipped. A channel's list may
//     be empty. An empty mux setting is a mistake, since it could mean all or none.
//   - Numbers are plain decimal digits, one spelling each: no sign, no exponent, no 0x50, no leading zero (080).
//   - A name or a number twice in one list is refused, and so are ranges that overlap.
//   - "multiplexer" and "disabled" must be exactly "true" or "false": admission's match conditions compare them.
//     Any other value counts as set, and as a problem, so that a typo is refused or freezes the mux, never ignored.
//   - DNS names are compared in lower case and without a trailing dot.
package validation
