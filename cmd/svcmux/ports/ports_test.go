package ports

import (
	"flag"
	"testing"

	"nowake.ai/svc-lb-mux/cmd/svcmux/look/looktest"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestGoldenPorts(t *testing.T) {
	noSlices := []string{"endpointslices", "endpointslices/svc-mux", "endpointslices/shop"}
	tenant := []string{"services", "endpointslices", "endpointslices/svc-mux", "configmaps/svc-mux", "deployments"}
	for name, tc := range map[string]looktest.Case{
		"healthy":         {World: "healthy"},
		"healthy-40":      {World: "healthy", Columns: "40"},
		"healthy-wide":    {World: "healthy", Args: "-o wide", Columns: "240"},
		"healthy-yaml":    {World: "healthy", Args: "svc-mux/mux -o yaml"},
		"healthy-name":    {World: "healthy", Args: "-o name"},
		"healthy-free":    {World: "healthy", Args: "--free"},
		"full":            {World: "full"},
		"frozen":          {World: "frozen"},
		"paused":          {World: "paused"},
		"pending":         {World: "pending"},
		"busy":            {World: "busy"},
		"busy-free-json":  {World: "busy", Args: "--free -o json"},
		"busy-chat":       {World: "busy", Args: "-n chat"},
		"ipv6":            {World: "ipv6"},
		"half":            {World: "half"},
		"ranges":          {World: "ranges"},
		"ranges-free":     {World: "ranges", Args: "--free"},
		"ranges-name":     {World: "ranges", Args: "-o name"},
		"several":         {World: "several"},
		"by-name":         {World: "several", Args: "other"},
		"no-ledger":       {World: "busy", Forbidden: []string{"configmaps/svc-mux"}},
		"no-slices":       {World: "healthy", Forbidden: noSlices},
		"a-tenant":        {World: "healthy", Forbidden: tenant},
		"a-blind-tenant":  {World: "healthy", Forbidden: append(tenant, "services/svc-mux", "endpointslices/shop")},
		"listeners":       {World: "listeners", Args: "-o wide", Columns: "160"},
		"no-listeners":    {World: "listeners", Forbidden: []string{"listenersets"}},
		"unknown":         {World: "healthy", Args: "nix", Code: 1},
		"hostile":         {World: "healthy", Args: "a/b/c", Code: 2},
		"none":            {World: "none", Code: 1},
		"empty-namespace": {World: "healthy", Args: "-n nowhere", Code: 1},
	} {
		t.Run(name, func(t *testing.T) { looktest.Golden(t, Command, name, tc, *update) })
	}
}
