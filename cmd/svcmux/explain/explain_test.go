package explain

import (
	"flag"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestGoldenExplanations(t *testing.T) {
	tenant := []string{"services", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux", "deployments"}
	blind := append([]string{"services/svc-mux"}, tenant...)
	for name, tc := range map[string]looktest.Case{
		"healthy":             {World: "healthy", Args: "shop/web"},
		"healthy-40":          {World: "healthy", Args: "shop/web", Columns: "40"},
		"healthy-wide":        {World: "healthy", Args: "shop/web -o wide"},
		"healthy-json":        {World: "healthy", Args: "shop/web -o json"},
		"in-the-namespace":    {World: "healthy", Args: "web"},
		"in-a-namespace":      {World: "healthy", Args: "rooms -n chat"},
		"a-mux":               {World: "healthy", Args: "svc-mux/mux"},
		"a-number":            {World: "healthy", Args: "svc-mux/mux:443"},
		"a-number-by-name":    {World: "healthy", Args: "mux:443"},
		"a-gateway":           {World: "gateways", Args: "shop/web"},
		"too-few-gateways":    {World: "gateways", Args: "shop/admin"},
		"no-gateway":          {World: "gateways", Args: "shop/night", Code: 1},
		"a-full-pool":         {World: "gateways", Args: "chat/rooms", Code: 1},
		"a-number-in-a-range": {World: "ranges", Args: "mux:10050"},
		"a-range":             {World: "ranges", Args: "chat/voice"},
		"shut-out-by-a-range": {World: "ranges", Args: "shop/late", Code: 1},
		"two-protocols":       {World: "healthy", Args: "mux:5222"},
		"one-protocol":        {World: "healthy", Args: "mux:5222/udp"},
		"a-free-number":       {World: "healthy", Args: "mux:8443", Code: 1},
		"a-foreign-port":      {World: "busy", Args: "mux:22", Code: 1},
		"a-number-in-grace":   {World: "busy", Args: "mux:8082", Code: 1},
		"refused":             {World: "busy", Args: "shop/second", Code: 1},
		"disabled":            {World: "busy", Args: "shop/withdrawn", Code: 1},
		"without-slices":      {World: "busy", Args: "shop/bare", Code: 1},
		"full":                {World: "full", Args: "shop/late", Code: 1},
		"frozen":              {World: "frozen", Args: "shop/web"},
		"frozen-late":         {World: "frozen", Args: "shop/late", Code: 1},
		"paused":              {World: "paused", Args: "shop/web"},
		"pending":             {World: "pending", Args: "shop/web", Code: 1},
		"ipv6":                {World: "ipv6", Args: "shop/web"},
		"another-family":      {World: "ipv6", Args: "shop/old", Code: 1},
		"half":                {World: "half", Args: "shop/web", Code: 1},
		"a-missing-mux":       {World: "several", Args: "shop/lost", Code: 1},
		"plain":               {World: "several", Args: "shop/plain", Code: 1},
		"absent":              {World: "healthy", Args: "shop/wbe", Code: 1},
		"no-ledger":           {World: "healthy", Args: "shop/web", Forbidden: []string{"configmaps/svc-mux"}},
		"no-slices": {World: "healthy", Args: "shop/web",
			Forbidden: []string{"endpointslices", "endpointslices/svc-mux", "endpointslices/shop"}},
		"a-tenant":            {World: "healthy", Args: "shop/web", Forbidden: tenant},
		"a-blind-tenant":      {World: "healthy", Args: "shop/web", Forbidden: blind},
		"a-blind-tenant-late": {World: "full", Args: "shop/late", Forbidden: blind, Code: 1},
		"anothers-number":     {World: "healthy", Args: "svc-mux/mux:5222/TCP", Forbidden: tenant, Code: 1},
		"an-unread-mux":       {World: "healthy", Args: "svc-mux/mux:443", Forbidden: blind, Code: 1},
		"anothers-service": {World: "healthy", Args: "chat/rooms", Forbidden: append([]string{"services/chat"}, tenant...),
			Code: 1},
		"an-unknown-mux":      {World: "healthy", Args: "svc-mux/mxu:443", Code: 1},
		"a-listener":          {World: "listeners", Args: "infra/gateway/edge/web", Code: 1},
		"a-refused-listener":  {World: "listeners", Args: "infra/gateway/edge/http", Code: 1},
		"a-listeners-number":  {World: "listeners", Args: "infra/gateway-edge:9092", Code: 1},
		"an-unread-listener":  {World: "listeners", Args: "infra/gateway-edge:80", Forbidden: []string{"tcproutes"}, Code: 1},
		"no-such-listener":    {World: "listeners", Args: "infra/gateway/edge/nothing", Code: 1},
		"a-listener-set":      {World: "listeners", Args: "listenerset/shop/broker", Code: 1},
		"no-such-set":         {World: "listeners", Args: "listenerset/shop/brok", Code: 1},
		"a-set-elsewhere":     {World: "listeners", Args: "listenerset/shop/broker -n infra", Code: 2},
		"a-service-elsewhere": {World: "healthy", Args: "shop/web -n infra", Code: 2},
		"a-route-elsewhere":   {World: "listeners", Args: "tcproute/shop/broker -n infra", Code: 2},
		"a-route":             {World: "routes", Args: "tcproute/quay/ferry", Code: 1},
		"half-a-listener":     {World: "listeners", Args: "listenerset/broker", Code: 1},
		"a-bad-number":        {World: "healthy", Args: "mux:99999", Code: 2},
		"a-bad-protocol":      {World: "healthy", Args: "mux:53/ICMP", Code: 2},
		"nothing":             {World: "healthy", Code: 2},
	} {
		t.Run(name, func(t *testing.T) { looktest.Golden(t, Command, name, tc, *update) })
	}
}
