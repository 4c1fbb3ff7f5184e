import type { KubeObject } from '../../kube/client/object.ts';

/** Names of the Secrets that pods use. The Secrets themselves are not read. Pure. */

interface Named {
  readonly name?: string;
}

interface Container {
  readonly env?: readonly { readonly valueFrom?: { readonly secretKeyRef?: Named } }[];
  readonly envFrom?: readonly { readonly secretRef?: Named }[];
}

interface Volume {
  readonly secret?: { readonly secretName?: string };
  readonly projected?: { readonly sources?: readonly { readonly secret?: Named }[] };
  readonly csi?: { readonly nodePublishSecretRef?: Named };
}

interface PodSpec {
  readonly initContainers?: readonly Container[];
  readonly containers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly imagePullSecrets?: readonly Named[];
}

const ofContainer = ({ env = [], envFrom = [] }: Container) => [
  ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ...envFrom.map(({ secretRef }) => secretRef?.name),
];

const ofVolume = ({ secret, projected, csi }: Volume) => [
  secret?.secretName,
  ...(projected?.sources ?? []).map((source) => source.secret?.name),
  csi?.nodePublishSecretRef?.name,
];

function ofPodSpec({
  initContainers = [],
  containers = [],
  volumes = [],
  imagePullSecrets = [],
}: PodSpec): string[] {
  const names = [
    ...[...initContainers, ...containers].flatMap(ofContainer),
    ...volumes.flatMap(ofVolume),
    ...imagePullSecrets.map(({ name }) => name),
  ];
  return names.flatMap((name) => (name ? [name] : []));
}

/** A Deployment or StatefulSet. */
interface Workload extends KubeObject {
  readonly spec?: { readonly template?: { readonly spec?: PodSpec } };
}

/** The Secrets of these workloads, each with the first workload that uses it, sorted by name. */
export function secretsOf(workloads: readonly KubeObject[]): { name: string; user: KubeObject }[] {
  const users = new Map<string, KubeObject>();
  for (const workload of workloads) {
    const { spec } = workload as Workload;
    for (const name of ofPodSpec(spec?.template?.spec ?? {})) if (!users.has(name)) users.set(name, workload);
  }
  return [...users].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, user]) => ({ name, user }));
}
