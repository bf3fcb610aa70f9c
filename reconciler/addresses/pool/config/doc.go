// Package config reads the file of pools, which the chart renders from gateways.pools[]. It refuses a file with any
// mistake, so that the controller never works with a part of it.
package config
