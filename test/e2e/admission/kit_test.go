package admission

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// machine returns the address of the webhook's process inside of the cluster.
func machine(t *testing.T, w world) string {
	t.Helper()
	return w.Kubectl(t, "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[0].addresses[0]}")
}

// endpoints creates the Service that the webhook's configuration names. Its endpoint is the process.
func endpoints(t *testing.T, w world) string {
	t.Helper()
	return `
apiVersion: v1
kind: Service
metadata: {name: ` + webhookName + `, namespace: ` + namespace + `}
spec: {ports: [{name: https, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: webhook, namespace: ` + namespace + `, labels: {kubernetes.io/service-name: ` + webhookName + `}}
addressType: IPv4
ports: [{name: https, port: ` + reviewPort + `}]
endpoints: [{addresses: [` + machine(t, w) + `]}]
`
}

func selfSigned(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(ca)
}
