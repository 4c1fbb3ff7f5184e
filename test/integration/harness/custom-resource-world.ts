/** Operators of both hosting modes, and for each of their namespaces an account that may only write custom resources there. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient, type KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { isKubeError } from '../../../src/cluster/kube/client/errors.ts';
import type { UntypedObject } from '../../../src/cluster/kube/client/object.ts';
import type { ManagedDeploymentStatus } from '../../../src/contract/resource/managed-deployment.ts';
import { HOSTING_MODES, type HostingMode } from '../../../src/domain/deployment/source.ts';
import { writeServiceAccountKubeconfig } from '../../cluster/kubectl.ts';
import { waitFor } from '../../cluster/wait.ts';
import { buildConfig, createBuildNamespace } from './build-namespace.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin, uniqueName } from './environment.ts';
import { type OperatorWorld, operatorWorld, type RunningOperator, startOperator } from './operator.ts';

export const resource = (name: string, spec: unknown, metadata: object = {}) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name, ...metadata },
  spec,
});

export const pathOf = (namespace: string) =>
  `/apis/berth.dev/v1alpha1/namespaces/${namespace}/manageddeployments`;

export class CustomResourceWorld {
  readonly #world: OperatorWorld;
  readonly #folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-custom-resources-'));
  readonly #operators: RunningOperator[] = [];
  readonly #writers = new Map<string, KubeClient>();
  /** For resources that must cause no pod, route or Job. */
  readonly namespaces: Record<HostingMode, string>;
  /** For resources that are accepted and rolled out. */
  readonly acceptingNamespaces: Record<HostingMode, string>;
  readonly builds: string;
  readonly #more: readonly string[];

  private constructor(
    world: OperatorWorld,
    namespaces: Record<'cloud' | 'ownAccepting' | 'cloudAccepting' | 'builds', string>,
    more: readonly string[],
  ) {
    this.#world = world;
    this.namespaces = { self_hosted: world.namespace, cloud: namespaces.cloud };
    this.acceptingNamespaces = { self_hosted: namespaces.ownAccepting, cloud: namespaces.cloudAccepting };
    this.builds = namespaces.builds;
    this.#more = more;
  }

  /** @param more namespaces of the operator in cloud, which are there already */
  static async start(more: readonly string[] = []): Promise<CustomResourceWorld> {
    const world = await operatorWorld('past-the-api');
    const cloud = await createNamespace('past-the-cloud');
    const [ownAccepting, cloudAccepting] = [
      await createNamespace('accepts'),
      await createNamespace('accepts'),
    ];
    const builds = await createBuildNamespace('past');
    const started = new CustomResourceWorld(world, { cloud, ownAccepting, cloudAccepting, builds }, more);
    for (const namespace of started.#all())
      started.#writers.set(namespace, await started.#writerOf(namespace));
    await started.#startOperators();
    return started;
  }

  #all(): string[] {
    return [...Object.values(this.namespaces), ...Object.values(this.acceptingNamespaces), ...this.#more];
  }

  async #startOperators(): Promise<void> {
    const strict = { hosting: 'cloud', podSecurity: 'restricted' } as const;
    const cloud = this.#world.another('strict', strict);
    this.#operators.push(
      await startOperator({
        ...this.#world.settings,
        moreNamespaces: [this.acceptingNamespaces.self_hosted],
      }),
      await startOperator({
        ...cloud,
        namespace: this.namespaces.cloud,
        moreNamespaces: [this.acceptingNamespaces.cloud, ...this.#more],
        builds: buildConfig(this.builds),
        lease: { ...cloud.lease, name: uniqueName('strict') },
      }),
    );
    // The first reconcile on a busy machine must not use up the time of the first test.
    await waitFor(
      'both operators to lead',
      async () => this.#operators.every((operator) => operator.state() === 'leading'),
      { timeoutMs: 120_000 },
    );
  }

  async #writerOf(namespace: string): Promise<KubeClient> {
    const as = ['-n', namespace];
    await kubectlAsAdmin([...as, 'create', 'serviceaccount', 'writer']);
    const verbs = '--verb=get,create,update,patch';
    await kubectlAsAdmin([
      ...as,
      'create',
      'role',
      'writer',
      verbs,
      '--resource=manageddeployments.berth.dev',
    ]);
    const account = `--serviceaccount=${namespace}:writer`;
    await kubectlAsAdmin([...as, 'create', 'rolebinding', 'writer', '--role=writer', account]);
    const kubeconfigPath = join(this.#folder, `${namespace}.kubeconfig`);
    await writeServiceAccountKubeconfig(environment(), { namespace, name: 'writer' }, kubeconfigPath);
    return createKubeClient({ kubeconfigPath, userAgent: 'berth-test-writer', requestTimeoutMs: 30_000 });
  }

  call(namespace: string, method: string, path: string, body?: object, contentType = 'application/json') {
    const writer = this.#writers.get(namespace);
    if (writer === undefined) throw new Error(`no account can write in ${namespace}`);
    return writer.request(method, path, body === undefined ? undefined : { body, contentType });
  }

  /** Without strict field validation, which is the client's own choice. Resolves with what was stored. */
  async send(namespace: string, body: ReturnType<typeof resource>): Promise<UntypedObject> {
    const path = `${pathOf(namespace)}?fieldValidation=Ignore`;
    return (await this.call(namespace, 'POST', path, body)).body as UntypedObject;
  }

  async get(namespace: string, name: string): Promise<UntypedObject> {
    return (await this.call(namespace, 'GET', `${pathOf(namespace)}/${name}`)).body as UntypedObject;
  }

  async statusOf(namespace: string, name: string): Promise<ManagedDeploymentStatus> {
    return ((await this.get(namespace, name))['status'] ?? {}) as ManagedDeploymentStatus;
  }

  /** Waits for a reason of the condition Ready. @param generation the oldest observed generation that counts */
  untilReported(namespace: string, name: string, reason = 'Refused', generation = 0) {
    return waitFor(
      `${name} to be reported as ${reason}`,
      async () => {
        const { conditions, observedGeneration = 0 } = await this.statusOf(namespace, name);
        const ready = conditions?.find(({ type }) => type === 'Ready');
        if (ready?.reason === reason && observedGeneration >= generation) return ready;
        throw new Error(`Ready is ${JSON.stringify(ready)} of ${observedGeneration}, not of ${generation}`);
      },
      { timeoutMs: 100_000, intervalMs: 100 },
    );
  }

  async end(): Promise<void> {
    await Promise.all(this.#operators.map((operator) => operator.stop()));
    await Promise.all([...this.#writers.values()].map((client) => client.close()));
    const { cloud } = this.namespaces;
    await Promise.all([cloud, ...Object.values(this.acceptingNamespaces), this.builds].map(deleteNamespace));
    await this.#world.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Whether all of `sent` is in `stored`. */
export function holds(stored: unknown, sent: unknown): boolean {
  if (typeof sent !== 'object' || sent === null) return stored === sent;
  if (typeof stored !== 'object' || stored === null) return false;
  return Object.entries(sent).every(
    ([key, value]) => Object.hasOwn(stored, key) && holds((stored as Record<string, unknown>)[key], value),
  );
}

/** Why a resource was not stored: the rules rejected it, or the request failed. */
export type NotStored = { kind: 'refused' | 'failed'; message: string };

/** What the rules of the custom resource reject, by field. All other errors are failures. */
export function refusedByRules(error: unknown): NotStored {
  const causes = isKubeError(error, 'invalid') ? error.causes : [];
  const fields = causes.filter(({ field }) => field.startsWith('spec.'));
  if (fields.length === 0) return { kind: 'failed', message: String(error) };
  return { kind: 'refused', message: fields.map(({ field, message }) => `${field}: ${message}`).join('; ') };
}

/** How rules and operator begin a message about a field. */
export const OF_A_FIELD = /^(the spec is not valid: )?spec[.:]/;

/** Runs `work` for each item, with one item per worker at a time. */
export async function drainQueue<T, W>(
  queue: readonly T[],
  workers: readonly W[],
  work: (next: T, worker: W) => Promise<void>,
): Promise<void> {
  const waiting = [...queue];
  const drain = async (worker: W) => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next, worker);
  };
  await Promise.all(workers.map(drain));
}

/** What Kubernetes creates in each namespace, and the account of the writer. */
const OF_ITSELF = /^(configmap\/kube-root-ca\.crt|serviceaccount\/default|[^/]*\/writer)$/;
/** Kinds that do not run or route anything: the custom resources and their Events. */
const NO_OBJECTS = /^(manageddeployments\.berth\.dev|events(\.events\.k8s\.io)?)$/;

/** Names of all objects in a namespace, of every kind that the cluster has. */
export async function objectsIn(namespace: string): Promise<string[]> {
  const kinds = await kubectlAsAdmin(['api-resources', '--namespaced', '--verbs=list', '-o', 'name']);
  const asked = kinds
    .trim()
    .split('\n')
    .filter((kind) => !NO_OBJECTS.test(kind));
  return (await list(namespace, asked.join(','))).filter((name) => !OF_ITSELF.test(name));
}

export async function list(namespace: string, kinds: string): Promise<string[]> {
  const text = await kubectlAsAdmin(['-n', namespace, 'get', kinds, '-o', 'name']);
  return text.trim().split('\n').filter(Boolean);
}

/** Those of a kind that this resource owns. */
export async function objects(namespace: string, kind: string, name: string): Promise<UntypedObject[]> {
  const text = await kubectlAsAdmin(['-n', namespace, 'get', kind, '-o', 'json']);
  const { items } = JSON.parse(text) as { items: UntypedObject[] };
  return items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === name));
}

export const BOTH = HOSTING_MODES.map((hosting) => ({ hosting }));
