// Package record turns the claims of a mux into the contents of a ConfigMap, and back. It also tells which ConfigMap
// holds them while they move to another name. It is pure: package ledger and the command line do the reading and
// writing.
//
// # The format
//
// The format is the original's (schemaVersion 1), with more fields, so that each of the two reads what the other wrote:
//
//	metadata:
//	  labels:
//	    app.kubernetes.io/name: svc-lb-mux
//	    app.kubernetes.io/component: mux-state
//	  annotations:
//	    <prefix>/mux: <namespace>/<name>
//	    <prefix>/generation: "12"
//	data:
//	  allocations.json: |
//	    {
//	      "schemaVersion": 1,
//	      "mux": {"namespace": "svc-mux", "name": "mux"},
//	      "generation": 12,
//	      "portClaims": [
//	        {"namespace": "app", "service": "api", "portName": "http", "protocol": "TCP", "channelPort": 80,
//	         "muxPort": 20000, "port": 20000, "source": "auto",
//	         "name": "1f0c5fd25a8f8ad2a2cb", "since": "2026-01-02T03:04:05Z"}
//	      ],
//	      "allocations": [ … the auto claims once more, in the original's fields alone … ],
//	      "released": [
//	        { … like a claim …, "state": "inGrace", "until": "2026-01-02T03:14:05Z"}
//	      ],
//	      "hostnames": [{"hostname": "app.example.com", "namespace": "app"}],
//	      "checksum": "…"
//	    }
//
// The text has no white space. Our additions are muxUID, heldUntil, provider, generation, released, hostnames and
// checksum, and in a claim name, since, state, until and lastPort. A claim of a range has lastPort, and its ledger has
// schemaVersion 2, which the original refuses. Released claims have a list of their own, because the original takes all
// portClaims for claims in force. Times are in UTC, to the second.
//
// The checksum is the SHA-256 of the text without the checksum and without white space. It detects an edit by hand. It
// isn't secret, so it doesn't prevent forgery.
//
// The annotation has the generation, too. The original drops the generation from the text and keeps annotations. So a
// ledger that the original wrote after us doesn't look like a restored backup.
//
// Past 900 KiB the text is compressed into binaryData under allocations.json.gz, without the list allocations, and the
// original can't read it. Both keys exist only after the original wrote its own, or after an edit by hand. Then the
// text with the higher generation counts, or the plain text if the generations are equal.
package record
