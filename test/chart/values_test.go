package chart

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestMistakesAreRefusedWithTheirPath(t *testing.T) {
	for name, tc := range map[string]struct {
		flag string
		want []string
	}{
		"an unknown top key":    {"--set=replicas=2", []string{"additional properties 'replicas'"}},
		"an unknown nested key": {"--set=webhook.predictions.strct=true", []string{"'/webhook/predictions'", "'strct'"}},
		"an unknown image key":  {"--set=images.webhook.version=1", []string{"'/images/webhook'", "'version'"}},
		"an unknown mux key": {"--set=defaultLoadBalancer.portrange=1",
			[]string{"'/defaultLoadBalancer'", "'portrange'"}},
		"an unknown mode":       {"--set=certs.mode=certmanager", []string{"'/certs/mode'", "'selfManaged'"}},
		"a prefix in capitals":  {"--set=api.prefix=Mux.example.com", []string{"'/api/prefix'", "Mux.example.com"}},
		"a string for a number": {"--set=webhook.replicas=two", []string{"'/webhook/replicas'", "want integer"}},
		"a string for a boolean": {"--set=webhook.predictions.enabled=no",
			[]string{"'/webhook/predictions/enabled'", "want boolean"}},
		"the probes' port":     {"--set=webhook.port=8081", []string{"'/webhook/port'"}},
		"an invalid namespace": {"--set=rbac.muxNamespaces={a/b}", []string{"'/rbac/muxNamespaces/0'", "a/b"}},
		"a CA that isn't PEM":  {"--set=certs.provided.caBundle=MIIB", []string{"'/certs/provided/caBundle'"}},
		"a tag as the digest":  {"--set=images.webhook.digest=v1", []string{"'/images/webhook/digest'"}},
		"a missing section":    {"--set=certs=null", []string{"missing property 'certs'"}},
		"an unknown log level": {"--set=logLevel=loud", []string{"'/logLevel'", "'debug'"}},
		"a range in words": {"--set=defaultLoadBalancer.portRange=http",
			[]string{"'/defaultLoadBalancer/portRange'", "'http'"}},
		"an unknown provider":   {"--set=defaultLoadBalancer.provider=GKE", []string{"'/defaultLoadBalancer/provider'"}},
		"a burst of zero":       {"--set=portChanges.burst=0", []string{"'/portChanges/burst'", "minimum"}},
		"a pace without a unit": {"--set=portChanges.pace=10", []string{"'/portChanges/pace'"}},
		"a limit in words": {"--set=defaultLoadBalancer.maxPorts=many",
			[]string{"'/defaultLoadBalancer/maxPorts'", "'many'"}},
		"a negative limit": {"--set=defaultLoadBalancer.maxPorts=-1",
			[]string{"'/defaultLoadBalancer/maxPorts'", "minimum"}},
		"an invalid ledger name": {"--set=defaultLoadBalancer.allocationConfigMapName=A_B",
			[]string{"'/defaultLoadBalancer/allocationConfigMapName'"}},
		"days": {"--set=certs.certManager.duration=90d",
			[]string{"'/certs/certManager/duration'", "'90d'"}},
		"a duration in days": {"--set=certs.selfManaged.caDuration=365d",
			[]string{"'/certs/selfManaged/caDuration'", "'365d'"}},
		"a number in env's list": {"--set-json=env=[{\"name\":\"DRYRUN_MODE\",\"value\":1}]", []string{"'/env/0/value'"}},
		"an invalid key":         {"--set=restraint.tolerate={a b}", []string{"'/restraint/tolerate/0'", "a b"}},
		"a prefix too long":      {"--set=api.prefix=" + strings.Repeat("a", 254), []string{"'/api/prefix'"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flag), tc.want...) })
	}
}

// TestUnknownKeysAreRefusedInEachSection sets an unknown key in each map that is the chart's own, pools of gateways
// included.
func TestUnknownKeysAreRefusedInEachSection(t *testing.T) {
	v := loadValues(t)
	sections := v.sections(v.root, v.schema, "")
	flags := []string{"--set=certs.certManager.issuerRef.unknownKey=1",
		`--set-json=gateways.pools=[{"name":"p","addresses":["192.0.2.0/24"],"gateways":{"unknownKey":1},"unknownKey":1}]`}
	for _, section := range sections {
		flags = append(flags, "--set="+join(section, "unknownKey")+"=1")
	}
	message := refused(t, flags...)
	for _, section := range append(sections, "certs.certManager.issuerRef", "gateways.pools.0",
		"gateways.pools.0.gateways") {
		pointer := ""
		if section != "" {
			pointer = "/" + strings.ReplaceAll(section, ".", "/")
		}
		if want := fmt.Sprintf("at '%s': additional properties 'unknownKey' not allowed", pointer); !strings.Contains(message,
			want) {
			t.Errorf("the message lacks %q", want)
		}
	}
	if t.Failed() || len(sections) < 20 {
		t.Errorf("%d sections, and Helm says:\n%s", len(sections), message)
	}
}

// sections returns the paths of a map and of the sections in it.
func (v *values) sections(section *yaml.Node, schema *schemaNode, path string) []string {
	all := []string{path}
	for i := 0; i+1 < len(section.Content); i += 2 {
		key, value := section.Content[i].Value, section.Content[i+1]
		if below := schema.property(key); isSection(value, below) {
			all = append(all, v.sections(value, below, join(path, key))...)
		}
	}
	return all
}

func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("the message lacks %q:\n%s", want, text)
		}
	}
}

// TestContradictionsAreRefused combines values that are each valid.
func TestContradictionsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"no cert-manager": {[]string{"--api-versions=apiregistration.k8s.io/v1"},
			[]string{"no API cert-manager.io/v1", "certs.mode=selfManaged", "certs.mode=provided"}},
		"a provided certificate without a Secret": {[]string{"--set=certs.mode=provided"},
			[]string{"certs.provided.secretName"}},
		"a provided certificate without a CA": {[]string{"--set=certs.mode=provided,certs.provided.secretName=ours"},
			[]string{"certs.provided.caBundle", "certs.provided.injectCAFromSecret"}},
		"a mux outside of the mux namespaces": {[]string{"--set=rbac.muxNamespaces={edge}"},
			[]string{`"infra"`, "rbac.muxNamespaces", "defaultLoadBalancer.create=false"}},
		"the namespace's default service account": {[]string{"--set=serviceAccount.create=false"},
			[]string{`"default"`, "infra", "serviceAccount.name", "serviceAccount.create=true"}},
		"a console with two kinds of tokens": {[]string{"--set=debugWeb.auth.mode=kubernetes,debugWeb.auth.token=x"},
			[]string{"debugWeb.auth.token", "debugWeb.auth.mode=token"}},
		"a mux named like the reconciler's Service": {[]string{"--set=defaultLoadBalancer.name=svc-mux"},
			[]string{"defaultLoadBalancer.name", `"svc-mux"`}},
		"two prefixes": {[]string{"--set=env.API_PREFIX=a.io"},
			[]string{`"a.io"`, `"svc-mux.nowake.ai"`, "api.prefix=a.io"}},
		"the console's port is the probes'": {[]string{"--set=env.DEBUG_WEB_PORT=8081"}, []string{`DEBUG_WEB_PORT "8081"`}},
		"an invalid default mux namespace":  {[]string{"--set=env.DEFAULT_MUX_NAMESPACE=Muxes"}, []string{`"Muxes"`}},
		"the original's invalid namespace":  {[]string{"--set=env.NAMESPACE=a.b"}, []string{`"a.b"`}},
		"an invalid value in env's list": {[]string{`--set-json=env=[{"name":"DRYRUN_MODE","value":"perhaps"}]`},
			[]string{`DRYRUN_MODE "perhaps"`}},
		"two CAs of API servers": {[]string{"--set=webhook.clientCA.configMap=a,webhook.clientCA.secret=b"},
			[]string{"webhook.clientCA", `"a"`, `"b"`, "name one"}},
		"names without a CA": {[]string{"--set=webhook.clientCA.names={apiserver}"},
			[]string{"webhook.clientCA.names", "apiserver", "webhook.clientCA.configMap"}},
		"a webhook without replicas": {[]string{"--set=webhook.replicas=0"},
			[]string{"webhook.replicas is 0", "1 or more", "delete ValidatingWebhookConfiguration svc-mux.infra"}},
		"a range that ends before it begins": {[]string{"--set=defaultLoadBalancer.portRange=20099-20000"},
			[]string{"defaultLoadBalancer.portRange", "write 20000-20099"}},
		"a port above 65535": {[]string{"--set=defaultLoadBalancer.portRange=65530-65536"},
			[]string{"defaultLoadBalancer.portRange", `"65530-65536"`, "from 1 to 65535"}},
		"overlapping ranges": {[]string{`--set=defaultLoadBalancer.portRange=20000-20099\,21000\,20050`},
			[]string{"20000-20099 and 20050-20050 overlap"}},
		"an empty range": {[]string{"--set-json=defaultLoadBalancer.portRange=\" , \""},
			[]string{"no port in it"}},
		"a mux with a channel's class": {[]string{"--set=defaultLoadBalancer.loadBalancerClass=svc-mux.nowake.ai/mux"},
			[]string{"is a channel's"}},
		"a certificate that is renewed at its expiry": {[]string{"--set=certs.certManager.renewBefore=2160h"},
			[]string{"certs.certManager.renewBefore 2160h", "less than certs.certManager.duration 2160h"}},
		"a certificate for less than an hour": {[]string{"--set=certs.certManager.duration=45m"},
			[]string{"certs.certManager.duration 45m", "1h or more"}},
		"a self-managed certificate that is renewed at once": {
			[]string{"--set=certs.mode=selfManaged,certs.selfManaged.renewBefore=2000h"},
			[]string{"certs.selfManaged.renewBefore 2000h", "three quarters of certs.selfManaged.duration 2160h"}},
		"a self-managed certificate that outlives its CA": {
			[]string{"--set=certs.mode=selfManaged,certs.selfManaged.caDuration=2000h"},
			[]string{"certs.selfManaged.caDuration 2000h", "no less than certs.selfManaged.duration 2160h"}},
		"a product's key is tolerated": {[]string{"--set=restraint.tolerate={team,svc-mux.nowake.ai/multiplexer}"},
			[]string{"restraint.tolerate", `"svc-mux.nowake.ai/multiplexer"`}},
		"strict without predictions": {[]string{"--set=webhook.predictions.strict=true,webhook.predictions.enabled=false"},
			[]string{"webhook.predictions.enabled=true"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flags...), tc.want...) })
	}
}

func TestCertManagerIsRequiredOnlyIfTheClusterIsKnown(t *testing.T) {
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--api-versions=cert-manager.io/v1")
	render(t) // as GitOps tools render: without the cluster's API versions
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--set=certs.mode=selfManaged")
}
