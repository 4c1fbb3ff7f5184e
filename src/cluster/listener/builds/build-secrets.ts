import type { ApplyWork } from '../../../contract/protocol/work-protocol.ts';
import { BUILD_SECRET_KEYS, hasBuildEnded } from '../../../contract/resource/build.ts';
import {
  buildName,
  FIELD_MANAGERS,
  formerBuildName,
  LABELS,
  MANAGED_BY,
} from '../../../contract/resource/names.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import { BUILD_COMPONENT, buildLabels } from '../../../workloads/objects/build-job.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES, type Resource as ResourceKind } from '../../kube/client/resources.ts';
import { belongsToDeployment } from '../apply/env-secrets.ts';
import { Refusal } from '../refusal.ts';
import type { Resource, ResourceView } from '../resource-view.ts';
import { mergedDockerConfig } from './docker-config.ts';

/**
 * The Secrets with the credentials of builds, in the build namespace. Each Secret is created before the custom resource
 * requests the build. The Secret is removed when the build has reached a final status, when another build replaces the
 * build, and with the deployment. The build namespace contains only builds, so the listener may list its Secrets. The
 * listener can therefore find Secrets that a terminated process left behind.
 */

export interface BuildSecretOptions {
  readonly client: Pick<KubeClient, 'create' | 'apply' | 'find' | 'delete' | 'listAll'>;
  /** The build namespace. */
  readonly namespace: string;
  /** Secret in the build namespace with the credentials for base images. */
  readonly baseSecret?: string | undefined;
  readonly logger: Pick<Logger, 'warn'>;
}

type View = Pick<ResourceView, 'covers' | 'trouble' | 'get'>;

/**
 * Whether an unfinished build of this resource uses the Secret, under its name or under the name that earlier
 * versions used.
 */
function needs(resource: Resource | undefined, secret: KubeObject): boolean {
  const { build } = resource?.spec ?? {};
  if (resource === undefined || build === undefined || buildHasEnded(resource)) return false;
  const names = [buildName, formerBuildName].map((nameOf) => nameOf(resource.metadata, build.revisionId));
  return names.includes(secret.metadata.name);
}

/** Name of the item's Secret. The name is derived here, because an older hub sends the former name. */
function nameOf(item: ApplyWork, revisionId: string): string {
  return buildName({ namespace: item.namespace, name: item.name }, revisionId);
}

/** Whether the requested build has reached a final status. */
export function buildHasEnded(resource: Resource | undefined): boolean {
  const { spec, status } = resource ?? {};
  if (spec?.build === undefined || status?.build?.revisionId !== spec.build.revisionId) return false;
  return hasBuildEnded(status.build);
}

export class BuildSecrets {
  readonly #options: BuildSecretOptions;
  /** Names of Secrets whose custom resource is being written and does not refer to them yet. */
  readonly #beingWritten = new Set<string>();

  constructor(options: BuildSecretOptions) {
    this.#options = options;
  }

  /**
   * Writes the Secret of the item, if any. An existing Secret receives the new credentials.
   * @param guard called before the write
   * @throws Refusal Conflict when a Secret of another owner has the name; KubeError
   */
  async ensure(item: ApplyWork, guard: () => void, signal: AbortSignal): Promise<void> {
    const { build_secret: secret } = item;
    if (secret === undefined) return;
    const name = nameOf(item, secret.revision_id);
    this.#beingWritten.add(name);
    const { client, namespace } = this.#options;
    const found = await client.find(RESOURCES.Secret, { namespace, name }, { signal });
    if (found !== undefined && !belongsToDeployment(found, item.deployment_id)) {
      throw new Refusal(
        'Conflict',
        `a Secret named ${name} exists in ${namespace} that Berth did not create`,
        true,
      );
    }
    const object = this.#object(item, { ...secret, data: await this.#withBases(secret.data, signal) });
    guard();
    if (found === undefined) await client.create(object, { fieldManager: FIELD_MANAGERS.listener, signal });
    else await this.#renew(object, found, signal);
  }

  /**
   * Adds the platform's credentials for base images. If these credentials cannot be read, BuildKit reports the failed
   * pull.
   */
  async #withBases(data: Readonly<Record<string, string>>, signal: AbortSignal) {
    const { client, namespace, baseSecret: name, logger } = this.#options;
    const own = data[BUILD_SECRET_KEYS.dockerConfig];
    if (name === undefined || own === undefined) return data;
    const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name }, { signal });
    const encoded = (found?.['data'] as Record<string, string> | undefined)?.['.dockerconfigjson'] ?? '';
    const merged = mergedDockerConfig(own, Buffer.from(encoded, 'base64').toString('utf8'));
    if (merged !== null) return { ...data, [BUILD_SECRET_KEYS.dockerConfig]: merged };
    const message = 'the Secret for base images (BERTH_BUILD_BASE_SECRET) is missing or cannot be read';
    logger.warn({ namespace, secret: name }, `${message}; builds pull base images without credentials`);
    return data;
  }

  /** Called after the write of the item's custom resource, successful or not. */
  afterWrite(item: ApplyWork): void {
    const { build_secret: secret } = item;
    if (secret !== undefined) this.#beingWritten.delete(nameOf(item, secret.revision_id));
  }

  #object(item: ApplyWork, { revision_id, data }: NonNullable<ApplyWork['build_secret']>) {
    const resource = { metadata: { namespace: item.namespace, name: item.name }, spec: item.spec };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: nameOf(item, revision_id),
        namespace: this.#options.namespace,
        labels: buildLabels(resource as unknown as Parameters<typeof buildLabels>[0], revision_id),
      },
      type: 'Opaque',
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    };
  }

  async #renew(object: KubeObject, { metadata: { uid } }: KubeObject, signal: AbortSignal): Promise<void> {
    const metadata = { ...object.metadata, ...(uid === undefined ? {} : { uid }) };
    await this.#options.client.apply(
      { ...object, metadata },
      { fieldManager: FIELD_MANAGERS.listener, signal },
    );
  }

  /**
   * Removes every Secret that no build needs, and copies a Secret with a former name to its present name. Secrets of
   * namespaces that the listener does not watch, or has not read completely, are kept.
   * @throws KubeError, and the error of `guard`
   */
  async tidy(view: View, guard: () => void, signal: AbortSignal): Promise<void> {
    const secrets = await this.#list(RESOURCES.Secret, '', signal);
    const names = new Set(secrets.map(({ metadata }) => metadata.name));
    for (const secret of secrets) {
      const { name, labels = {} } = secret.metadata;
      const [namespace = '', app = ''] = [labels[LABELS.namespace], labels[LABELS.instance]];
      if (!view.covers(namespace) || view.trouble(namespace) !== undefined) continue;
      const resource = view.get(namespace, app);
      if (resource !== undefined && needs(resource, secret)) {
        const present = buildName(resource.metadata, resource.spec.build?.revisionId ?? '');
        if (!names.has(present)) await this.#copy(name, present, guard, signal);
        continue;
      }
      if (this.#beingWritten.has(name)) continue;
      guard();
      await this.#delete(RESOURCES.Secret, secret, signal);
    }
  }

  /** A build that was requested before an upgrade and starts after it mounts the Secret under its present name. */
  async #copy(former: string, name: string, guard: () => void, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const found = await client.find<UntypedObject>(RESOURCES.Secret, { namespace, name: former }, { signal });
    if (found === undefined) return;
    const { apiVersion, kind, metadata } = found;
    const copy = { name, namespace, ...(metadata.labels === undefined ? {} : { labels: metadata.labels }) };
    guard();
    try {
      await client.create(
        { apiVersion, kind, metadata: copy, type: 'Opaque', data: found['data'] } as UntypedObject,
        { fieldManager: FIELD_MANAGERS.listener, signal },
      );
    } catch (error) {
      if (!isKubeError(error, 'already_exists')) throw error;
    }
  }

  /**
   * Removes the Secrets and Jobs of a deployment.
   * @returns the objects that still existed
   */
  async remove(deploymentId: string, guard: () => void, signal: AbortSignal): Promise<KubeObject[]> {
    const left: KubeObject[] = [];
    for (const kind of [RESOURCES.Job, RESOURCES.Secret]) {
      for (const object of await this.#list(kind, `,${LABELS.deploymentId}=${deploymentId}`, signal)) {
        left.push({ ...object, kind: kind.kind });
        if (object.metadata.deletionTimestamp !== undefined) continue;
        guard();
        await this.#delete(kind, object, signal);
      }
    }
    return left;
  }

  async #list(kind: ResourceKind, selector: string, signal: AbortSignal): Promise<KubeObject[]> {
    const labelSelector = `${LABELS.managedBy}=${MANAGED_BY},${LABELS.component}=${BUILD_COMPONENT}${selector}`;
    const { client, namespace } = this.#options;
    const { items } = await client.listAll(kind, {
      namespace,
      labelSelector,
      // Only the metadata is read, because the values of the Secrets are not needed.
      transform: ({ apiVersion, kind: name, metadata }) => ({ apiVersion, kind: name, metadata }),
      signal,
    });
    return items;
  }

  async #delete(kind: ResourceKind, { metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const { name, uid } = metadata;
    try {
      const options = {
        ...(uid === undefined ? {} : { uid }),
        propagationPolicy: 'Background' as const,
        signal,
      };
      await client.delete(kind, { namespace, name }, options);
    } catch (error) {
      // The object is gone, or another object has taken its name.
      if (!isKubeError(error, 'not_found', 'conflict')) throw error;
    }
  }
}
