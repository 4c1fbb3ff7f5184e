import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { KubeError, type KubeErrorKind } from '../../../../src/cluster/kube/client/errors.ts';
import { matchesLabelSelector } from '../../../../src/cluster/kube/client/label-selector.ts';
import { type KubeObject, keyOf } from '../../../../src/cluster/kube/client/object.ts';
import type { Resource as Kind } from '../../../../src/cluster/kube/client/resources.ts';
import { resourceOf } from '../../../../src/cluster/kube/client/resources.ts';
import type { Resource } from '../../../../src/cluster/listener/resource-view.ts';
import { createHubClient, type HubError } from '../../../../src/cluster/listener/session/hub-client.ts';
import type { Term } from '../../../../src/cluster/listener/session/term.ts';
import type { ApplyWork, PurgeWork, WorkSpec } from '../../../../src/contract/protocol/work-protocol.ts';
import { formerSpec } from '../../../../src/contract/resource/former-names.ts';
import { managedDeploymentSpecSchema } from '../../../../src/contract/resource/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../../../../src/contract/resource/names.ts';
import { contentHash } from '../../../../src/domain/core/hash.ts';
import { recordingLogger } from '../kube/support.ts';

export const ID = '01900000-0000-7000-8000-000000000001';
export const TENANT = '01900000-0000-7000-8000-00000000000a';
export const NAME = 'shop-00000001';
export const NAMESPACE = 'team';

export function specOf(generation: number, more: object = {}) {
  return managedDeploymentSpecSchema.parse({
    deploymentId: ID,
    tenantId: TENANT,
    recordGeneration: generation,
    revision: { id: 'r1', number: 1, image: 'img:1' },
    ...more,
  });
}

/** The spec as a work item contains it. */
export const workSpec = (spec: Resource['spec']) => formerSpec<WorkSpec>(spec);

export function applyWork(more: Partial<ApplyWork> = {}): ApplyWork {
  const generation = more.generation ?? 1;
  const spec = more.spec ?? workSpec(specOf(generation));
  return {
    kind: 'apply',
    deployment_id: ID,
    tenant_id: TENANT,
    generation,
    name: NAME,
    namespace: NAMESPACE,
    create_namespace: false,
    labels: { [LABELS.deploymentId]: ID, [LABELS.managedBy]: MANAGED_BY },
    spec,
    spec_hash: contentHash(spec),
    env_secrets: [],
    stale_env_secrets: [],
    stale_env_revisions: [],
    ...more,
  };
}

export function purgeWork(more: Partial<PurgeWork> = {}): PurgeWork {
  return {
    kind: 'purge',
    deployment_id: ID,
    tenant_id: TENANT,
    generation: 2,
    name: NAME,
    namespace: NAMESPACE,
    env_secrets: [],
    ...more,
  };
}

export const OURS = { [LABELS.managedBy]: MANAGED_BY, [LABELS.deploymentId]: ID };

/** A cluster in memory with uids, resource versions and preconditions like a real one; it records all calls. */
export class FakeCluster {
  readonly objects = new Map<string, KubeObject & Record<string, unknown>>();
  readonly calls: string[] = [];
  /** Upcoming failures, by call: `create Secret`, `apply ManagedDeployment`. */
  readonly failures = new Map<string, (KubeErrorKind | 'lost')[]>();
  /** Called before a call takes effect, to simulate a race. */
  before: (call: string) => void = () => {};
  #version = 0;

  put(
    object: { apiVersion: string; kind: string; metadata: object } & Record<string, unknown>,
  ): KubeObject & Record<string, unknown> {
    const metadata = object.metadata as KubeObject['metadata'];
    const old = this.objects.get(this.#key(object.kind, metadata));
    this.#version += 1;
    const stored = {
      ...object,
      metadata: {
        ...metadata,
        uid: old?.metadata.uid ?? `uid-${this.#version}`,
        resourceVersion: String(this.#version),
        generation: (old?.metadata.generation ?? 0) + 1,
      },
    };
    this.objects.set(this.#key(object.kind, metadata), stored);
    return structuredClone(stored);
  }

  get(kind: string, name: string, namespace = NAMESPACE): (KubeObject & Record<string, unknown>) | undefined {
    return structuredClone(this.objects.get(this.#key(kind, { namespace, name })));
  }

  remove(kind: string, name: string, namespace = NAMESPACE): void {
    this.objects.delete(this.#key(kind, { namespace, name }));
  }

  readonly client: Pick<KubeClient, 'create' | 'apply' | 'find' | 'delete' | 'listAll'> = {
    create: async (object) => {
      const key = this.#key(object.kind, object.metadata);
      return this.#do('create', object.kind, object.metadata.name, () => {
        if (this.objects.has(key)) throw this.#error('already_exists');
        return this.put(object as never) as never;
      });
    },
    apply: async (object) => {
      const key = this.#key(object.kind, object.metadata);
      return this.#do('apply', object.kind, object.metadata.name, () => {
        const live = this.objects.get(key);
        const { uid, resourceVersion } = object.metadata;
        if (uid !== undefined && live?.metadata.uid !== uid) throw this.#error('conflict');
        if (resourceVersion !== undefined && live?.metadata.resourceVersion !== resourceVersion)
          throw this.#error('conflict');
        const labels = { ...live?.metadata.labels, ...object.metadata.labels };
        return this.put({
          ...live,
          ...object,
          metadata: { ...live?.metadata, ...object.metadata, labels },
        } as never) as never;
      });
    },
    find: async (kind: Kind, { namespace = '', name }) =>
      this.#do('find', kind.kind, name, () => this.get(kind.kind, name, namespace) as never),
    delete: async (kind: Kind, { namespace = '', name }, { uid, resourceVersion, propagationPolicy } = {}) =>
      this.#do('delete', kind.kind, name, () => {
        const live = this.objects.get(this.#key(kind.kind, { namespace, name }));
        if (live === undefined) throw this.#error('not_found');
        if (uid !== undefined && live.metadata.uid !== uid) throw this.#error('conflict');
        if (resourceVersion !== undefined && live.metadata.resourceVersion !== resourceVersion)
          throw this.#error('conflict');
        if (propagationPolicy === 'Foreground') live.metadata.deletionTimestamp = '2030-01-01T00:00:00Z';
        else this.remove(kind.kind, name, namespace);
      }),
    listAll: async (kind: Kind, { namespace = '', labelSelector = '' } = {}) =>
      this.#do('list', kind.kind, namespace, () => {
        const items = [...this.objects.values()].filter(
          (object) =>
            resourceOf(object).kind === kind.kind &&
            object.metadata.namespace === namespace &&
            matchesLabelSelector(labelSelector, object.metadata.labels) === true,
        );
        return { items: structuredClone(items) as never[], resourceVersion: String(this.#version) };
      }),
  };

  /** A view that always reads the cluster; `stale`: content of its cache until it is refreshed. */
  view(stale?: Resource) {
    let cached = stale;
    const live = (namespace: string, name: string) =>
      this.get('ManagedDeployment', name, namespace) as unknown as Resource | undefined;
    return {
      covers: (namespace: string) => namespace === NAMESPACE || namespace.startsWith('berth-'),
      trouble: (_namespace: string): string | undefined => undefined,
      get: (namespace: string, name: string) => cached ?? live(namespace, name),
      getSure: async (namespace: string, name: string) => cached ?? live(namespace, name),
      refresh: async (namespace: string, name: string) => {
        cached = undefined;
        this.calls.push(`find ManagedDeployment ${name}`);
        return live(namespace, name);
      },
      writing: (_at: unknown, send: () => Promise<Resource>) => send(),
      noteWrite: () => {},
      noteDelete: () => {},
    };
  }

  writes(): string[] {
    return this.calls.filter((call) => /^(create|apply|delete) /.test(call));
  }

  async #do<T>(verb: string, kind: string, name: string, effect: () => T): Promise<T> {
    const call = `${verb} ${kind}`;
    this.calls.push(`${call} ${name}`);
    this.before(call);
    const failure = this.failures.get(call)?.shift();
    if (failure !== undefined && failure !== 'lost') throw this.#error(failure);
    const result = effect();
    if (failure === 'lost') throw this.#error('network');
    return result;
  }

  #error(kind: KubeErrorKind): KubeError {
    return new KubeError({ kind, message: `failed: ${kind}` });
  }

  #key(kind: string, at: { namespace?: string; name: string }): string {
    return `${kind} ${keyOf(at)}`;
  }
}

/** A term that lasts until `lose` is called. */
export function fakeTerm(): Term & { lose(): void; endedBecause: string | null } {
  const losing = new AbortController();
  const term = {
    epoch: 3,
    lost: losing.signal,
    isValid: () => !losing.signal.aborted,
    endedBecause: null as string | null,
    end: (why: string) => {
      term.endedBecause = why;
      losing.abort();
    },
    lose: () => losing.abort(),
  };
  return term;
}

/** Lets all pending promises run. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** The error of a hub client after a 404 with this body. */
export async function hub404(body: string): Promise<HubError> {
  const transport = async () => ({ status: 404, body });
  const client = createHubClient({ transport, listenerId: 'l', logger: recordingLogger() });
  const failed = client.logRequests({ epoch: 1, waitSeconds: 0 });
  return failed.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: HubError) => error,
  );
}
