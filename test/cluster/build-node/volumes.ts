import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import type { Container, Pod, SecretVolume } from './pod-types.ts';

/** Volumes of a pod, as folders. */

/** A feature of the pod that this node does not support. null if it supports all features. */
export function unsupported({ spec }: Pod): string | null {
  if (spec.restartPolicy !== 'Never') return `restartPolicy ${spec.restartPolicy}`;
  const volume = spec.volumes?.find(({ emptyDir, secret }) => emptyDir === undefined && secret === undefined);
  if (volume !== undefined) return `volume ${volume.name}, neither emptyDir nor secret`;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const { name, env = [], envFrom = [], volumeMounts = [] } = container;
    if (container.restartPolicy !== undefined) return `sidecar ${name}`;
    if (envFrom.length > 0 || env.some(({ valueFrom }) => valueFrom !== undefined)) {
      return `variables of ${name} from other objects`;
    }
    if (volumeMounts.some(({ subPath }) => subPath !== undefined)) return `subPath in ${name}`;
  }
  return null;
}

/** The API server accepts only keys that are valid file names. */
async function writeSecret(
  client: Pick<KubeClient, 'find'>,
  namespace: string,
  { secretName, optional, items }: SecretVolume,
  folder: string,
): Promise<void> {
  const secret = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name: secretName });
  if (secret === undefined && optional !== true) throw new Error(`secret "${secretName}" not found`);
  const data = (secret?.['data'] ?? {}) as Record<string, string>;
  const files = items ?? Object.keys(data).map((key) => ({ key, path: key }));
  for (const { key, path } of files) {
    const value = data[key];
    if (value === undefined && optional === true) continue;
    if (value === undefined) throw new Error(`secret "${secretName}" has no key "${key}"`);
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, Buffer.from(value, 'base64'), { mode: 0o400, flag: 'w' });
  }
}

/**
 * Creates the volumes of a pod: one folder for each, with its name.
 * @throws Error, KubeError if a Secret does not exist (yet)
 */
export async function createVolumes(
  client: Pick<KubeClient, 'find'>,
  pod: Pod,
  folder: string,
): Promise<void> {
  for (const { name, secret } of pod.spec.volumes ?? []) {
    const path = join(folder, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (secret !== undefined) await writeSecret(client, pod.metadata.namespace ?? '', secret, path);
  }
}

/** Mount paths of a container, each with its folder on this machine. */
export function realPathsOf({ volumeMounts = [] }: Container, folder: string): Map<string, string> {
  return new Map(
    volumeMounts.map(({ name, mountPath }) => [mountPath.replace(/(?<=.)\/+$/, ''), join(folder, name)]),
  );
}
