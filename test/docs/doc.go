// Package docs runs the commands of README.md and docs/, as their marks say: CONTRIBUTING.md, "Docs".
package docs
