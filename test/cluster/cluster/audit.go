package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// auditEverything logs each finished request without bodies: its user, verb, object and result.
const auditEverything = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

func (c *Cluster) auditPolicy() string { return filepath.Join(c.Host.Dir, "audit.yaml") }
func (c *Cluster) auditLog() string    { return filepath.Join(c.Host.Dir, "logs", "audit.jsonl") }

// AuditEvent is the part of an audit record that tests use.
type AuditEvent struct {
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestURI string `json:"requestURI"`
}

// Audited returns every request that the API server has answered so far, oldest first.
func (c *Cluster) Audited() ([]AuditEvent, error) {
	if !c.options.audit {
		return nil, fmt.Errorf("this cluster keeps no audit log: start it with cluster.Audit()")
	}
	file, err := os.Open(c.auditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var events []AuditEvent
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event AuditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may be incomplete
		}
		events = append(events, event)
	}
	return events, lines.Err()
}
