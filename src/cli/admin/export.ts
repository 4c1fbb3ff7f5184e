import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterOptions } from '../../app/cluster-access.ts';
import { asFolder, asStream, type Exported } from '../../cluster/export/files.ts';
import { plainObjects } from '../../cluster/export/plain-objects.ts';
import { createKubeClient, type KubeClient } from '../../cluster/kube/client/client.ts';
import { isKubeError } from '../../cluster/kube/client/errors.ts';
import type { UntypedObject } from '../../cluster/kube/client/object.ts';
import { RESOURCES } from '../../cluster/kube/client/resources.ts';
import { CHILD_KIND_NAMES, CHILD_KINDS } from '../../cluster/operator/kinds.ts';
import { newestFirst } from '../../cluster/operator/observed.ts';
import { TASK_SELECTOR } from '../../cluster/operator/tasks/task-caches.ts';
import { type Config, loadConfig } from '../../config/index.ts';
import type { ManagedDeployment } from '../../contract/resource/managed-deployment.ts';
import { LABELS } from '../../contract/resource/names.ts';
import { normalizedName } from '../../domain/core/name.ts';
import { deploymentId } from '../../workloads/labels.ts';
import { parseStoredTemplates, type StoredTemplates } from '../../workloads/stored-templates.ts';
import { UsageError } from '../command/usage-error.ts';

/** Kinds that are part of an export: all kinds that Berth creates and that are useful without it. */
const KINDS = CHILD_KIND_NAMES.filter((kind) => kind !== 'Pod' && kind !== 'ControllerRevision');

/** The argument and the options of the command. */
export interface ExportOptions {
  readonly name: string;
  readonly namespace?: string;
  readonly revision?: number;
  readonly output?: string;
}

type Found = ManagedDeployment & UntypedObject;

function isCalled({ metadata, spec }: Found, name: string): boolean {
  const isNamed = spec.displayName !== undefined && normalizedName(spec.displayName) === normalizedName(name);
  return isNamed || [metadata.name, spec.deploymentId].includes(name);
}

/** @throws UsageError when no deployment or several deployments have this name */
async function findResource(
  client: KubeClient,
  { name, namespace }: ExportOptions,
  config: Config,
): Promise<Found> {
  const places =
    namespace !== undefined ? [namespace] : config.namespaces.length > 0 ? config.namespaces : [undefined];
  const lists = await Promise.all(
    places.map((place) =>
      client.listAll<Found>(RESOURCES.ManagedDeployment, place === undefined ? {} : { namespace: place }),
    ),
  );
  const found = lists.flatMap(({ items }) => items).filter((item) => isCalled(item, name));
  const [only, another] = found;
  if (only === undefined) {
    throw new UsageError(`there is no ManagedDeployment "${name}"; next: kubectl get mdep -A lists them`, 1);
  }
  if (another !== undefined) {
    const names = found.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(', ');
    throw new UsageError(
      `several ManagedDeployments match "${name}": ${names}; next: select one with -n, or by its id`,
      1,
    );
  }
  return only;
}

/** @throws UsageError when the templates of the revision are not stored */
async function findTemplates(
  client: KubeClient,
  resource: Found,
  revision: number | undefined,
): Promise<StoredTemplates> {
  const { namespace } = resource.metadata;
  const labelSelector = `${LABELS.deploymentId}=${deploymentId(resource)}`;
  const { items } = await client.listAll(RESOURCES.ControllerRevision, { namespace, labelSelector });
  const stored = newestFirst(
    items.flatMap((item) => {
      const templates = parseStoredTemplates(item);
      return templates === null ? [] : [{ ...templates, createdAt: item.metadata.creationTimestamp ?? '' }];
    }),
  );
  const { activeRevision } = resource.status ?? {};
  const inUse = stored.find(({ name }) => name === activeRevision?.templates);
  const wanted =
    revision === undefined || revision === activeRevision?.number
      ? inUse
      : stored.find(({ revisionNumber }) => revisionNumber === revision);
  if (wanted !== undefined) return wanted;
  const kept = [...new Set(stored.map(({ revisionNumber }) => revisionNumber))].toReversed().join(', ');
  throw new UsageError(
    revision === undefined
      ? 'it has no active revision; next: select a revision with --revision'
      : `the templates of revision ${revision} are not stored; stored revisions: ${kept === '' ? 'none' : kept}`,
    1,
  );
}

async function readObjects(client: KubeClient, resource: Found): Promise<UntypedObject[]> {
  const { namespace } = resource.metadata;
  const id = deploymentId(resource);
  const schedules = client.listAll(RESOURCES.CronJob, {
    namespace,
    labelSelector: `${TASK_SELECTOR},${LABELS.deploymentId}=${id}`,
  });
  const lists = await Promise.all([
    schedules.then(({ items }) => items),
    ...KINDS.map(async (kind) => {
      const { resource: type, labelSelector, optional } = CHILD_KINDS[kind];
      const selector = `${labelSelector},${LABELS.deploymentId}=${id}`;
      try {
        return (await client.listAll(type, { namespace, labelSelector: selector })).items;
      } catch (error) {
        if (optional && isKubeError(error, 'unknown_resource', 'not_found')) return [];
        throw error;
      }
    }),
  ]);
  return lists.flat().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

function writeFolder(folder: string, exported: Exported): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new UsageError(`--output: the folder ${folder} is not empty; next: use another folder`, 1);
  }
  mkdirSync(folder, { recursive: true });
  const files = asFolder(exported);
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  console.error(
    `${folder}: ${exported.objects.length} objects of revision ${exported.revision}. How to use the objects without ` +
      `Berth: ${join(folder, 'README.md')}`,
  );
}

/**
 * `berth export`.
 * @throws UsageError, KubeError
 */
export async function exportCommand(wanted: ExportOptions, version: string): Promise<void> {
  const config = loadConfig();
  const client = await createKubeClient(
    clusterOptions(config, config.operatorKubeconfig, `berth-export/${version}`),
  );
  try {
    const resource = await findResource(client, wanted, config);
    const [templates, live] = await Promise.all([
      findTemplates(client, resource, wanted.revision),
      readObjects(client, resource),
    ]);
    const objects = plainObjects(resource, live, templates);
    if (wanted.output === undefined) process.stdout.write(asStream(objects));
    else writeFolder(wanted.output, { resource, revision: templates.revisionNumber, objects });
  } finally {
    await client.close();
  }
}
