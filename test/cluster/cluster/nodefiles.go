package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

// nodeFiles are a node's configuration files.
type nodeFiles struct{ containerd, kubelet string }

// containerdConfig restricts OOM scores: without CAP_SYS_RESOURCE, runc can't lower a container's score, and fails. It
// also lowers the collector's pause_threshold: with the default, containerd's garbage collector looks for work a
// hundred times a second.
const containerdConfig = `version = 2
root = "{{.Run}}/containerd"
state = "{{.Run}}/containerd.state"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
address = "{{.Run}}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{{.Sandbox}}"
restrict_oom_score_adj = true
disable_apparmor = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.gc.v1.scheduler"]
pause_threshold = 0.0002
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{{.Plugins}}"
conf_dir = "{{.Dir}}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`

// kubeletConfig disables evictions for lack of disk space. It fixes settings that would otherwise depend on the
// machine: cgroup driver, swap and name servers.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {{.Listen}}
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: {{.CA}}}}
authorization: {mode: Webhook}
tlsCertFile: {{.Cert}}
tlsPrivateKeyFile: {{.Key}}
containerRuntimeEndpoint: unix://{{.Run}}/containerd.sock
podLogsDir: {{.Run}}/logs
volumePluginDir: {{.Run}}/volumeplugins
cgroupDriver: cgroupfs
cgroupRoot: {{.Cgroup}}
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
resolvConf: ""
evictionHard: {nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", memory.available: "0%"}
imageGCHighThresholdPercent: 100
maxPods: 250
registryPullQPS: 0
kubeAPIQPS: 200
kubeAPIBurst: 400
eventRecordQPS: 0
serializeImagePulls: false
syncFrequency: 10s
`

// cniConfig routes each pod (ptp). With a bridge, replies could bypass the node's rules.
const cniConfig = `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {
"type": "host-local", "dataDir": "{{.Run}}/addresses",
"ranges": [[{"subnet": "{{.Pods}}"}]{{if .IPv6}}, [{"subnet": "{{.Pods6}}"}]{{end}}],
"routes": [{"dst": "0.0.0.0/0"}{{if .IPv6}}, {"dst": "::/0"}{{end}}]}}]}
`

func (c *Cluster) writeNodeFiles(node *Node) (nodeFiles, error) {
	dir := filepath.Join(c.Host.Dir, node.Name)
	facts := map[string]any{
		"Run": node.run, "Dir": dir, "Sandbox": PodImage, "Plugins": cniPlugins, "CA": c.pki.crt("ca"),
		"Cert": c.pki.crt(node.Name), "Key": c.pki.pem(node.Name), "Cgroup": c.Host.Cgroup(node.Name),
		"Pods": node.Pods, "Pods6": node.Pods6, "IPv6": haveIPv6(), "Listen": withoutIPv6("0.0.0.0", `"::"`),
	}
	if err := os.MkdirAll(filepath.Join(dir, "cni"), 0o700); err != nil {
		return nodeFiles{}, err
	}
	files := nodeFiles{containerd: filepath.Join(dir, "containerd.toml"), kubelet: filepath.Join(dir, "kubelet.yaml")}
	for path, text := range map[string]string{
		files.containerd: containerdConfig, files.kubelet: kubeletConfig,
		filepath.Join(dir, "cni", "pods.conflist"): cniConfig,
	} {
		if err := writeTemplate(path, text, facts); err != nil {
			return nodeFiles{}, fmt.Errorf("write %s: %w", path, err)
		}
	}
	return files, nil
}

func writeTemplate(path, text string, facts any) error {
	parsed, err := template.New(filepath.Base(path)).Parse(text)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := parsed.Execute(file, facts); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// writeImages writes the archives that every node imports: ours, and the caller's.
func (c *Cluster) writeImages() ([]string, error) {
	pod := Image{Name: PodImage, Program: filepath.Join(c.bin["pod"], "pod"), As: "/pod", Entrypoint: []string{"/pod"},
		Args: []string{"pause"}}
	images := []Image{pod}
	if c.options.certs {
		images = append(images, c.certManagerImages()...)
	}
	path := filepath.Join(c.Host.Dir, "images.tar")
	if err := WriteArchive(path, images...); err != nil {
		return nil, err
	}
	return append([]string{path}, c.options.images...), nil
}
