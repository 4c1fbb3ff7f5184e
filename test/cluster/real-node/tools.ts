/**
 * The programs of a real node. kubelet, kube-proxy, containerd and CoreDNS are built with Go from pinned modules, like those
 * of the control plane. runc, the network plugins of pods, and nft come from Debian's packages.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type BinaryGroup,
  type ClusterBinaries,
  kubernetesGroup,
  pinnedVersion,
  type ResolveOptions,
  resolveBinaries,
  resolveGroup,
} from '../binaries.ts';
import { debianTree } from '../images/debian-packages.ts';
import { resolveRunc } from '../images/tools.ts';

const CONTAINERD = 'github.com/containerd/containerd/v2';
const COREDNS = 'github.com/coredns/coredns';

const OF_KUBERNETES = ['kubelet', 'kube-proxy'] as const;
const OF_CONTAINERD = ['containerd', 'containerd-shim-runc-v2', 'ctr'] as const;

export type NodeProgram = (typeof OF_KUBERNETES | typeof OF_CONTAINERD)[number] | 'coredns' | 'runc';

export interface NodeTools {
  /** Control plane and kubectl. */
  cluster: ClusterBinaries;
  /** Absolute path of each program. */
  node: Record<NodeProgram, string>;
  /** Folder with the CNI plugins. */
  cniPlugins: string;
  /** Path of nft, and the folders with its libraries. */
  nft: { program: string; libraries: string };
}

const modules = join(dirname(fileURLToPath(import.meta.url)), 'modules');

function versionOf(module: string, folder: string): string {
  return pinnedVersion(readFileSync(join(modules, folder, 'go.mod'), 'utf8'), module);
}

function containerdGroup(): BinaryGroup<(typeof OF_CONTAINERD)[number]> {
  const version = versionOf(CONTAINERD, 'containerd');
  return {
    name: 'containerd',
    version,
    moduleDir: join(modules, 'containerd'),
    packages: Object.fromEntries(OF_CONTAINERD.map((name) => [name, `${CONTAINERD}/cmd/${name}`])),
    ldflags: [`-X ${CONTAINERD}/version.Version=${version}`],
    // Only overlayfs snapshots are needed.
    tags: ['no_btrfs', 'no_devmapper', 'no_zfs'],
  };
}

function coreDnsGroup(): BinaryGroup<'coredns'> {
  return {
    name: 'coredns',
    version: versionOf(COREDNS, 'coredns'),
    moduleDir: join(modules, 'coredns'),
    packages: { coredns: COREDNS },
    ldflags: [],
  };
}

/**
 * Finds all programs. Builds missing ones (10 to 15 minutes if all are missing, once per version).
 * @throws BinariesMissingError if a program is missing, and Go or Debian's packages are not available
 */
export async function resolveNodeTools(options: ResolveOptions = {}): Promise<NodeTools> {
  const cluster = await resolveBinaries(options);
  const kubernetes = await resolveGroup(kubernetesGroup(OF_KUBERNETES), OF_KUBERNETES, installHint, options);
  const containerd = await resolveGroup(containerdGroup(), OF_CONTAINERD, installHint, options);
  const dns = await resolveGroup(coreDnsGroup(), ['coredns'], installHint, options);
  const runc = await resolveRunc(options);
  const cni = await debianTree({ name: 'cni', packages: ['containernetworking-plugins'] }, options);
  const nft = await debianTree(
    // Uses the C library of the machine.
    { name: 'nft', packages: ['nftables'], dependencies: /^lib(?!c6|crypt1|gcc)/ },
    options,
  );
  return {
    cluster,
    node: { ...kubernetes, ...containerd, ...dns, runc },
    cniPlugins: join(cni, 'usr/lib/cni'),
    nft: { program: join(nft, 'usr/sbin/nft'), libraries: librariesOf(nft) },
  };
}

/** Debian names the folder after the architecture: usr/lib/x86_64-linux-gnu. */
function librariesOf(tree: string): string {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const folders = ['usr/lib', 'lib'].map((folder) => join(tree, folder, `${machine}-linux-gnu`));
  return folders.join(':');
}

function installHint(missing: readonly string[]): string {
  return [
    `A real node needs ${missing.join(', ')}, and there is no Go to build ${missing.length > 1 ? 'them' : 'it'} with. Do one of these:`,
    '  - install Go 1.26 or newer (https://go.dev/dl) and try again: the build takes some minutes, once;',
    '  - set KUBEBUILDER_ASSETS to a folder that holds these programs.',
  ].join('\n');
}
