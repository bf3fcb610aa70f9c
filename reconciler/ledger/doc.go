// Package ledger keeps what is known for good of a mux, its claims, in a ConfigMap, and in memory for whoever goes by
// them. What is decided about claims lives in reconciler/plan.
//
//	codec   Encode, Decode    a plan.Ledger as the contents of a ConfigMap, and back; pure
//	store   Store.Read, Write reads and writes that ConfigMap, and knows when a cache isn't to be believed
//	board   Board             the claims in force of all muxes, for the backends and the console
//
// # The format
//
// It is the original's (schemaVersion 1), with more fields, so that both read what either wrote:
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
// Written without white space. Ours are generation, name, since, until, released, hostnames and checksum; what else
// is in there is somebody else's, and let be. Released claims have a list of their own because the original would
// take them for claims in force. Times are in UTC, to the second.
//
// The checksum is the SHA-256 of the text without it and without white space. It tells a ledger that we wrote from
// one that somebody edited, who means well: it is no secret.
//
// The generation is in the annotation too, because the original drops it from the text, and leaves annotations
// alone. So a ledger that the original wrote between two of our times isn't taken for a restored backup.
//
// Past 900 KiB it is compressed into binaryData under allocations.json.gz, without the view called allocations: the
// original can't read that. If both keys are there, the higher generation counts, and of equals the plain text: we
// never leave both, the original does.
package ledger
