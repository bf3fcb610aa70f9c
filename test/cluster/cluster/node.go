package cluster

// A Node is a real one.
type Node struct{ nodeNetwork }

const cniPlugins = "/usr/lib/cni"
