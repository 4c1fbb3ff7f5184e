/** Configuration files of containerd, kubelet, kube-proxy and CoreDNS. Some are JSON, which is valid YAML. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { paths } from '../layout.ts';
import { NODE_ADDRESS, NODE_NAME, POD_NETWORK } from './addresses.ts';
import type { NodeTools } from './tools.ts';

/** Image of the container that holds a pod's namespaces. */
export const SANDBOX_IMAGE = 'berth.local/pause:1';

export const files = {
  containerd: (stateDir: string) => join(stateDir, 'containerd.toml'),
  containerdSocket: (stateDir: string) => join(stateDir, 'run', 'containerd.sock'),
  kubelet: (stateDir: string) => join(stateDir, 'kubelet.json'),
  proxy: (stateDir: string) => join(stateDir, 'kube-proxy.json'),
  dns: (stateDir: string) => join(stateDir, 'Corefile'),
  /** Folder with programs that must be on the PATH. */
  programs: (stateDir: string) => join(stateDir, 'programs'),
};

const text = JSON.stringify;

/** Writes all files. @param registryPort port of the registry at the node's address, from which all images are pulled */
export function writeSettings(stateDir: string, tools: NodeTools, registryPort: number): void {
  for (const folder of ['run', 'cni', 'programs']) {
    mkdirSync(join(stateDir, folder), { recursive: true });
  }
  writeFileSync(files.containerd(stateDir), containerd(stateDir, tools));
  // All images are pulled from one registry, regardless of the host in their names.
  writeRegistry(stateDir, `${NODE_ADDRESS}:${registryPort}`, '_default');
  writeFileSync(join(stateDir, 'cni', '10-pods.conflist'), text(podNetwork()));
  // There are no names outside of the cluster.
  writeFileSync(join(stateDir, 'resolv.conf'), `nameserver ${NODE_ADDRESS}\n`);
  writeFileSync(files.kubelet(stateDir), text(kubelet(stateDir)));
  writeFileSync(files.proxy(stateDir), text(proxy(stateDir)));
  writeFileSync(files.dns(stateDir), dns(stateDir));
  const nft = join(files.programs(stateDir), 'nft');
  writeFileSync(
    nft,
    `#!/bin/sh\nLD_LIBRARY_PATH='${tools.nft.libraries}' exec '${tools.nft.program}' "$@"\n`,
  );
  chmodSync(nft, 0o755);
}

/** Strings and lists of strings have the same form in TOML and JSON. */
function containerd(stateDir: string, { node, cniPlugins }: NodeTools): string {
  const socket = files.containerdSocket(stateDir);
  const runc = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc";
  return `version = 4
root = ${text(join(stateDir, 'containerd'))}
state = ${text(join(stateDir, 'run', 'containerd'))}
disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.image-verifier.v1.bindir']
[plugins.'io.containerd.server.v1.grpc']
  address = ${text(socket)}
[plugins.'io.containerd.server.v1.ttrpc']
  address = ${text(`${socket}.ttrpc`)}
[plugins.'io.containerd.internal.v1.opt']
  path = ${text(join(stateDir, 'opt'))}
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = ${text(SANDBOX_IMAGE)}
[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = ${text(join(stateDir, 'registries'))}
[plugins.'io.containerd.cri.v1.runtime']
  # In some containers and virtual machines, root may not lower the score, and no pod would start.
  restrict_oom_score_adj = true
  disable_apparmor = true
[${runc}]
  runtime_type = 'io.containerd.runc.v2'
  [${runc}.options]
    BinaryName = ${text(node.runc)}
    SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = [${text(cniPlugins)}]
  conf_dir = ${text(join(stateDir, 'cni'))}
`;
}

/**
 * Writes from where containerd pulls images. Containerd reads the file at each pull.
 * @param host over plain HTTP
 * @param names the host in the names of the images
 */
export function writeRegistry(stateDir: string, host: string, names = host): void {
  const folder = join(stateDir, 'registries', names);
  mkdirSync(folder, { recursive: true });
  const url = text(`http://${host}`);
  const content = `server = ${url}\n[host.${url}]\n  capabilities = ["pull", "resolve"]\n`;
  writeFileSync(join(folder, 'hosts.toml'), content);
}

/**
 * Each pod has a point-to-point link, so all traffic between pods is routed, and responses of a Service's pods find their way
 * back. A bridge would need a kernel module for this.
 */
function podNetwork(): object {
  const ranges = [[{ subnet: POD_NETWORK }]];
  const ipam = { type: 'host-local', dataDir: '/run/cni-ipam', ranges, routes: [{ dst: '0.0.0.0/0' }] };
  return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp', ipam }] };
}

function kubelet(stateDir: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${basename(stateDir)}`,
    containerRuntimeEndpoint: `unix://${files.containerdSocket(stateDir)}`,
    resolvConf: join(stateDir, 'resolv.conf'),
    clusterDNS: [NODE_ADDRESS],
    clusterDomain: 'cluster.local',
    // Only reachable from the node's network.
    address: NODE_ADDRESS,
    readOnlyPort: 0,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    oomScoreAdj: 0,
    // The disk belongs to this machine, and may be nearly full without affecting tests.
    evictionHard: {
      'memory.available': '50Mi',
      'nodefs.available': '1%',
      'nodefs.inodesFree': '1%',
      'imagefs.available': '1%',
    },
    imageGCHighThresholdPercent: 100,
    imageMinimumGCAge: '240h',
    nodeStatusUpdateFrequency: '2s',
    // Pods start in parallel, so images are pulled in parallel.
    serializeImagePulls: false,
    registryPullQPS: 0,
    volumePluginDir: join(stateDir, 'kubelet', 'volume-plugins'),
  };
}

function proxy(stateDir: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig: paths.kubeconfig(stateDir, 'kube-proxy') },
    clusterCIDR: POD_NETWORK,
    hostnameOverride: NODE_NAME,
    oomScoreAdj: 0,
    conntrack: { maxPerCore: 0 },
    nftables: { minSyncPeriod: '100ms' },
  };
}

/** Resolves names of Services. Other names do not exist. */
function dns(stateDir: string): string {
  return `cluster.local:53 {
  bind ${NODE_ADDRESS}
  errors
  kubernetes cluster.local {
    kubeconfig ${paths.kubeconfig(stateDir, 'coredns')}
    ttl 1
  }
}
.:53 {
  bind ${NODE_ADDRESS}
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;
}
