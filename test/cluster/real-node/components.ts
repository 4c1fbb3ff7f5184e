/** The processes of a node, which run in its namespaces. */
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { componentSpec } from '../components.ts';
import { type ClusterRecord, componentNames, paths } from '../layout.ts';
import { type ProcessSpec, startProcess } from '../processes.ts';
import { NODE_ADDRESS, NODE_NAME } from './addresses.ts';
import { inside, NAMESPACES } from './namespaces.ts';
import { files } from './settings.ts';
import type { NodeTools } from './tools.ts';

/** Components of the control plane that a real node needs: all except kwok. */
export const CONTROL_PLANE = [
  componentNames.etcd,
  componentNames.apiServer,
  componentNames.controllerManager,
  componentNames.scheduler,
] as const;

/** Names of the other processes of the node. */
export const NODE_PROCESSES = ['tunnel', 'containerd', 'kubelet', 'kube-proxy', 'coredns'] as const;
export type NodeProcess = (typeof NODE_PROCESSES)[number];

export const ALL_PROCESSES: readonly string[] = [NAMESPACES, ...CONTROL_PLANE, ...NODE_PROCESSES];

/** Additional flags of the API server: an address that pods can reach, and the authorization of the kubelet. */
const API_SERVER_FLAGS = [
  '--bind-address=0.0.0.0',
  `--advertise-address=${NODE_ADDRESS}`,
  '--endpoint-reconciler-type=lease',
  '--authorization-mode=Node',
  '--enable-admission-plugins=NodeRestriction',
  '--kubelet-preferred-address-types=InternalIP',
];

/** Additional flags of the controllers, which must notice a failed node. */
const CONTROLLER_FLAGS = ['--node-monitor-grace-period=40s', '--use-service-account-credentials'];

/** Starts a component of the control plane. */
export async function startComponent(
  stateDir: string,
  record: ClusterRecord,
  name: (typeof CONTROL_PLANE)[number],
): Promise<void> {
  const spec = componentSpec(stateDir, record, name);
  const more: Partial<Record<string, string[]>> = {
    [componentNames.apiServer]: API_SERVER_FLAGS,
    [componentNames.controllerManager]: CONTROLLER_FLAGS,
  };
  await startProcess(stateDir, inside(stateDir, { ...spec, args: [...spec.args, ...(more[name] ?? [])] }));
}

/** Starts a process of the node. */
export async function startNodeProcess(stateDir: string, tools: NodeTools, name: NodeProcess): Promise<void> {
  const [command, ...args] = commandOf(stateDir, tools, name);
  const spec: ProcessSpec = { name, command, args, env: environment(stateDir, tools) };
  await startProcess(stateDir, inside(stateDir, spec));
}

function commandOf(stateDir: string, { node }: NodeTools, name: NodeProcess): [string, ...string[]] {
  switch (name) {
    case 'tunnel': {
      const script = join(dirname(fileURLToPath(import.meta.url)), 'tunnel-inside.ts');
      return [process.execPath, script, `${stateDir}/`];
    }
    case 'containerd':
      return [node.containerd, '--config', files.containerd(stateDir)];
    case 'kubelet':
      return [
        node.kubelet,
        `--config=${files.kubelet(stateDir)}`,
        `--kubeconfig=${paths.kubeconfig(stateDir, 'kubelet')}`,
        `--root-dir=${join(stateDir, 'kubelet')}`,
        `--cert-dir=${join(stateDir, 'kubelet', 'pki')}`,
        `--hostname-override=${NODE_NAME}`,
        `--node-ip=${NODE_ADDRESS}`,
      ];
    case 'kube-proxy':
      return [node['kube-proxy'], `--config=${files.proxy(stateDir)}`];
    case 'coredns':
      return [node.coredns, '-conf', files.dns(stateDir)];
  }
}

/** Environment without the proxy variables of this process, because a node has no access to the internet. */
function environment(stateDir: string, { node }: NodeTools): Record<string, string> {
  const own = [files.programs(stateDir), dirname(node['containerd-shim-runc-v2'])];
  const kept = Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name));
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [name, value ?? ''])),
    PATH: [...own, process.env['PATH'] ?? ''].join(delimiter),
  };
}
