package chart

import (
	"strings"
	"testing"
)

func TestMistakesAreRefusedWithTheirPath(t *testing.T) {
	for name, tc := range map[string]struct {
		flag string
		want []string
	}{
		"a value at the top":       {"--set=replicas=2", []string{"additional properties 'replicas'"}},
		"a value further down":     {"--set=webhook.predictions.strct=true", []string{"'/webhook/predictions'", "'strct'"}},
		"an image's":               {"--set=images.webhook.version=1", []string{"'/images/webhook'", "'version'"}},
		"the mux's":                {"--set=defaultLoadBalancer.portrange=1", []string{"'/defaultLoadBalancer'", "'portrange'"}},
		"a mode that is none":      {"--set=certs.mode=certmanager", []string{"'/certs/mode'", "'selfManaged'"}},
		"a prefix in capitals":     {"--set=api.prefix=Mux.example.com", []string{"'/api/prefix'", "Mux.example.com"}},
		"a word for a number":      {"--set=webhook.replicas=two", []string{"'/webhook/replicas'", "want integer"}},
		"a word for a switch":      {"--set=webhook.predictions.enabled=no", []string{"'/webhook/predictions/enabled'", "want boolean"}},
		"the probes' port":         {"--set=webhook.port=8081", []string{"'/webhook/port'"}},
		"a namespace that is none": {"--set=rbac.muxNamespaces={a/b}", []string{"'/rbac/muxNamespaces/0'", "a/b"}},
		"a CA that isn't PEM":      {"--set=certs.provided.caBundle=MIIB", []string{"'/certs/provided/caBundle'"}},
		"a tag as the digest":      {"--set=images.webhook.digest=v1", []string{"'/images/webhook/digest'"}},
		"a part that is missing":   {"--set=certs=null", []string{"missing property 'certs'"}},
		"a log level":              {"--set=logLevel=loud", []string{"'/logLevel'", "'debug'"}},
		"a range in words":         {"--set=defaultLoadBalancer.portRange=http", []string{"'/defaultLoadBalancer/portRange'", "'http'"}},
		"no provider":              {"--set=defaultLoadBalancer.provider=GKE", []string{"'/defaultLoadBalancer/provider'"}},
		"no burst":                 {"--set=portChanges.burst=0", []string{"'/portChanges/burst'", "minimum"}},
		"no pace":                  {"--set=portChanges.pace=10", []string{"'/portChanges/pace'"}},
		"no number of ports":       {"--set=defaultLoadBalancer.maxPorts=many", []string{"'/defaultLoadBalancer/maxPorts'", "'many'"}},
		"less than no ports":       {"--set=defaultLoadBalancer.maxPorts=-1", []string{"'/defaultLoadBalancer/maxPorts'", "minimum"}},
		"a ledger that is no name": {"--set=defaultLoadBalancer.allocationConfigMapName=A_B", []string{"'/defaultLoadBalancer/allocationConfigMapName'"}},
		"days":                     {"--set=certs.certManager.duration=90d", []string{"'/certs/certManager/duration'", "'90d'"}},
		"days of our own":          {"--set=certs.selfManaged.caDuration=365d", []string{"'/certs/selfManaged/caDuration'", "'365d'"}},
		"a number in env's list":   {"--set-json=env=[{\"name\":\"DRYRUN_MODE\",\"value\":1}]", []string{"'/env/0/value'"}},
		"a key that is none":       {"--set=restraint.tolerate={a b}", []string{"'/restraint/tolerate/0'", "a b"}},
		"a prefix too long":        {"--set=api.prefix=" + strings.Repeat("a", 254), []string{"'/api/prefix'"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flag), tc.want...) })
	}
}

func says(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, want := range want {
		if !strings.Contains(text, want) {
			t.Errorf("it doesn't say %q:\n%s", want, text)
		}
	}
}

// TestWhatCannotWorkStopsEarly is about values that are right each for itself.
func TestWhatCannotWorkStopsEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string
	}{
		"no cert-manager": {[]string{"--api-versions=apiregistration.k8s.io/v1"},
			[]string{"no API cert-manager.io/v1", "certs.mode=selfManaged", "certs.mode=provided"}},
		"a certificate of nowhere": {[]string{"--set=certs.mode=provided"}, []string{"certs.provided.secretName"}},
		"a certificate of nobody's": {[]string{"--set=certs.mode=provided,certs.provided.secretName=ours"},
			[]string{"certs.provided.caBundle", "certs.provided.injectCAFromSecret"}},
		"a mux that could not be written": {[]string{"--set=rbac.muxNamespaces={edge}"},
			[]string{`"infra"`, "rbac.muxNamespaces", "defaultLoadBalancer.create=false"}},
		"rights for every pod of the namespace": {[]string{"--set=serviceAccount.create=false"},
			[]string{`"default"`, "infra", "serviceAccount.name", "serviceAccount.create=true"}},
		"a console that asks for two kinds of tokens": {[]string{"--set=debugWeb.auth.mode=kubernetes,debugWeb.auth.token=x"},
			[]string{"debugWeb.auth.token", "debugWeb.auth.mode=token"}},
		"a mux named like the reconciler's Service": {[]string{"--set=defaultLoadBalancer.name=svc-mux"},
			[]string{"defaultLoadBalancer.name", `"svc-mux"`}},
		"two prefixes":                       {[]string{"--set=env.API_PREFIX=a.io"}, []string{`"a.io"`, `"svc-mux.nowake.ai"`, "api.prefix=a.io"}},
		"the console's port is the probes'":  {[]string{"--set=env.DEBUG_WEB_PORT=8081"}, []string{`DEBUG_WEB_PORT "8081"`}},
		"muxes in a namespace that can't be": {[]string{"--set=env.DEFAULT_MUX_NAMESPACE=Muxes"}, []string{`"Muxes"`}},
		"muxes where the original can't be":  {[]string{"--set=env.NAMESPACE=a.b"}, []string{`"a.b"`}},
		"an environment's list has a bad word": {[]string{`--set-json=env=[{"name":"DRYRUN_MODE","value":"perhaps"}]`},
			[]string{`DRYRUN_MODE "perhaps"`}},
		"two CAs of API servers": {[]string{"--set=webhook.clientCA.configMap=a,webhook.clientCA.secret=b"},
			[]string{"webhook.clientCA", `"a"`, `"b"`, "name one"}},
		"names without a CA": {[]string{"--set=webhook.clientCA.names={apiserver}"},
			[]string{"webhook.clientCA.names", "apiserver", "webhook.clientCA.configMap"}},
		"a webhook of nobody": {[]string{"--set=webhook.replicas=0"},
			[]string{"webhook.replicas is 0", "1 or more", "delete ValidatingWebhookConfiguration svc-mux.infra"}},
		"a range that ends before it begins": {[]string{"--set=defaultLoadBalancer.portRange=20099-20000"},
			[]string{"defaultLoadBalancer.portRange", "write 20000-20099"}},
		"a port that is none": {[]string{"--set=defaultLoadBalancer.portRange=65530-65536"},
			[]string{"defaultLoadBalancer.portRange", `"65530-65536"`, "from 1 to 65535"}},
		"a number twice": {[]string{`--set=defaultLoadBalancer.portRange=20000-20099\,21000\,20050`},
			[]string{"20000-20099 and 20050-20050 overlap"}},
		"a range of nothing": {[]string{"--set-json=defaultLoadBalancer.portRange=\" , \""}, []string{"no port in it"}},
		"a mux of a mux":     {[]string{"--set=defaultLoadBalancer.loadBalancerClass=svc-mux.nowake.ai/mux"}, []string{"is a channel's"}},
		"a certificate that is renewed when it is over": {[]string{"--set=certs.certManager.renewBefore=2160h"},
			[]string{"certs.certManager.renewBefore 2160h", "less than certs.certManager.duration 2160h"}},
		"a certificate of minutes": {[]string{"--set=certs.certManager.duration=45m"}, []string{"certs.certManager.duration 45m", "1h or more"}},
		"one of our own that is renewed at once": {[]string{"--set=certs.mode=selfManaged,certs.selfManaged.renewBefore=2000h"},
			[]string{"certs.selfManaged.renewBefore 2000h", "three quarters of certs.selfManaged.duration 2160h"}},
		"one of our own that outlives its authority": {[]string{"--set=certs.mode=selfManaged,certs.selfManaged.caDuration=2000h"},
			[]string{"certs.selfManaged.caDuration 2000h", "no less than certs.selfManaged.duration 2160h"}},
		"a key of ours that is tolerated": {[]string{"--set=restraint.tolerate={team,svc-mux.nowake.ai/multiplexer}"},
			[]string{"restraint.tolerate", `"svc-mux.nowake.ai/multiplexer"`}},
		"strict about nothing": {[]string{"--set=webhook.predictions.strict=true,webhook.predictions.enabled=false"},
			[]string{"webhook.predictions.enabled=true"}},
	} {
		t.Run(name, func(t *testing.T) { says(t, refused(t, tc.flags...), tc.want...) })
	}
}

func TestACertManagerThatIsOrMayBeThere(t *testing.T) {
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--api-versions=cert-manager.io/v1")
	render(t) // for GitOps: nobody knows the cluster yet
	render(t, "--api-versions=apiregistration.k8s.io/v1", "--set=certs.mode=selfManaged")
}
