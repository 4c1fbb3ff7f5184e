/**
 * What the table of inputs refuses at the API, sent past it: straight to the API server, as a custom resource, by
 * somebody who may write those in a namespace and nothing else. Each is refused by the custom resource's own rules, loses
 * what may not be on the way in, or is taken and confined: the operator says which field, and makes nothing of it.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ManagedDeploymentStatus } from '../../src/contract/managed-deployment.ts';
import { buildName } from '../../src/contract/names.ts';
import { HOSTING_MODES, type HostingMode } from '../../src/domain/source.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import type { UntypedObject } from '../../src/kube/object.ts';
import { writeServiceAccountKubeconfig } from '../cluster/kubectl.ts';
import { waitFor } from '../cluster/wait.ts';
import { buildConfig, createBuildNamespace } from './harness/build-namespace.ts';
import {
  built,
  type CustomResourceRow,
  confinedRows,
  customResourceRows,
  NETWORK_HOSTS,
  PRIVATE_REPOSITORIES,
  routed,
  switchedOff,
  withoutUnknown,
} from './harness/custom-resource-table.ts';
import {
  createNamespace,
  deleteNamespace,
  environment,
  kubectlAsAdmin,
  uniqueName,
} from './harness/environment.ts';
import {
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from './harness/operator.ts';

/** How a bad input ended. */
type Outcome =
  /** The API server said no. */
  | { kind: 'refused'; message: string }
  /** What may not be is no field, and was left out before the rest was stored. */
  | { kind: 'left out'; name: string; stored: unknown }
  /** Something is not in what was stored, of which nobody has said that there is no such field. */
  | { kind: 'lost' }
  /** It was stored. */
  | { kind: 'taken'; name: string };

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'berth-custom-resources-'));
let world: OperatorWorld;
const operators: RunningOperator[] = [];
/** Where nothing may come of anything. */
const namespaces = {} as Record<HostingMode, string>;
/** Where harmless things are made. */
const beside = {} as Record<HostingMode, string>;
let builds: string;
const writers = new Map<string, KubeClient>();
const outcomes = new Map<Sent, Outcome>();

interface Sent {
  hosting: HostingMode;
  row: CustomResourceRow;
}
const ALL = HOSTING_MODES.flatMap((hosting) =>
  customResourceRows(hosting).map((row): Sent => ({ hosting, row })),
);

/** Somebody who may write custom resources in a namespace, and nothing else. */
async function writerOf(namespace: string): Promise<KubeClient> {
  const as = ['-n', namespace];
  await kubectlAsAdmin([...as, 'create', 'serviceaccount', 'writer']);
  const verbs = '--verb=get,create,update,patch';
  await kubectlAsAdmin([...as, 'create', 'role', 'writer', verbs, '--resource=manageddeployments.berth.dev']);
  await kubectlAsAdmin([
    ...as,
    'create',
    'rolebinding',
    'writer',
    '--role=writer',
    `--serviceaccount=${namespace}:writer`,
  ]);
  const kubeconfigPath = join(folder, `${namespace}.kubeconfig`);
  await writeServiceAccountKubeconfig(environment(), { namespace, name: 'writer' }, kubeconfigPath);
  return createKubeClient({ kubeconfigPath, userAgent: 'berth-test-writer', requestTimeoutMs: 30_000 });
}

const resource = (name: string, spec: unknown, metadata: object = {}) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ManagedDeployment',
  metadata: { name, ...metadata },
  spec,
});

const pathOf = (namespace: string) => `/apis/berth.dev/v1alpha1/namespaces/${namespace}/manageddeployments`;

function call(namespace: string, method: string, path: string, body?: object) {
  const writer = writers.get(namespace);
  if (writer === undefined) throw new Error(`nobody writes in ${namespace}`);
  return writer.request(
    method,
    path,
    body === undefined ? undefined : { body, contentType: 'application/json' },
  );
}

/** Without strict field validation, which is the client's own choice. */
async function send(namespace: string, body: ReturnType<typeof resource>): Promise<UntypedObject> {
  const answer = await call(namespace, 'POST', `${pathOf(namespace)}?fieldValidation=Ignore`, body);
  return answer.body as UntypedObject;
}

/** Whether all of `sent` is in `stored`. */
function holds(stored: unknown, sent: unknown): boolean {
  if (typeof sent !== 'object' || sent === null) return stored === sent;
  if (typeof stored !== 'object' || stored === null) return false;
  return Object.entries(sent).every(
    ([key, value]) => Object.hasOwn(stored, key) && holds((stored as Record<string, unknown>)[key], value),
  );
}

async function outcomeOf({ hosting, row }: Sent): Promise<Outcome> {
  const name = uniqueName('bad');
  try {
    if (row.unknown !== undefined) {
      const { spec } = (await send(beside[hosting], resource(name, switchedOff(row.spec)))) as {
        spec?: unknown;
      };
      return { kind: 'left out', name, stored: spec };
    }
    const { spec } = (await send(namespaces[hosting], resource(name, row.spec))) as { spec?: unknown };
    return holds(spec, row.spec) ? { kind: 'taken', name } : { kind: 'lost' };
  } catch (error) {
    if (error instanceof KubeError && error.status !== undefined && error.status < 500)
      return { kind: 'refused', message: error.message };
    throw error;
  }
}

beforeAll(async () => {
  world = await operatorWorld('past-the-api');
  namespaces.self_hosted = world.namespace;
  namespaces.cloud = await createNamespace('past-the-cloud');
  for (const hosting of HOSTING_MODES) beside[hosting] = await createNamespace('beside');
  for (const namespace of [...Object.values(namespaces), ...Object.values(beside)])
    writers.set(namespace, await writerOf(namespace));
  builds = await createBuildNamespace('past');
  const strict = { hosting: 'cloud', podSecurity: 'restricted' } as const;
  const cloud = world.another('strict', strict);
  operators.push(
    await startOperator({ ...world.settings, moreNamespaces: [beside.self_hosted] }),
    await startOperator({
      ...cloud,
      namespace: namespaces.cloud,
      moreNamespaces: [beside.cloud],
      builds: buildConfig(builds),
      lease: { ...cloud.lease, name: uniqueName('strict') },
    }),
  );
  const queue = [...ALL];
  const worker = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      outcomes.set(next, await outcomeOf(next));
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
});
afterAll(async () => {
  await Promise.all(operators.map((operator) => operator.stop()));
  await Promise.all([...writers.values()].map((client) => client.close()));
  await Promise.all([namespaces.cloud, ...Object.values(beside), builds].map(deleteNamespace));
  await world.end();
  rmSync(folder, { recursive: true, force: true });
});

async function statusOf(namespace: string, name: string): Promise<ManagedDeploymentStatus> {
  const { body } = await call(namespace, 'GET', `${pathOf(namespace)}/${name}`);
  return ((body as UntypedObject)['status'] ?? {}) as ManagedDeploymentStatus;
}

const readyOf = ({ conditions }: ManagedDeploymentStatus) => conditions?.find(({ type }) => type === 'Ready');

/** Its condition Ready, once the operator has looked. */
const told = (namespace: string, name: string, reason = 'Refused') =>
  waitFor(
    `${name} to be told of as ${reason}`,
    async () => {
      const ready = readyOf(await statusOf(namespace, name));
      if (ready?.reason === reason) return ready;
      throw new Error(`Ready is ${JSON.stringify(ready)}`);
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );

async function list(namespace: string, kinds: string): Promise<string[]> {
  const text = await kubectlAsAdmin(['-n', namespace, 'get', kinds, '-o', 'name']);
  return text.trim().split('\n').filter(Boolean);
}

async function objects(namespace: string, kind: string, name: string): Promise<UntypedObject[]> {
  const text = await kubectlAsAdmin(['-n', namespace, 'get', kind, '-o', 'json']);
  const { items } = JSON.parse(text) as { items: UntypedObject[] };
  return items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === name));
}

const BOTH = HOSTING_MODES.map((hosting) => ({ hosting }));

describe('a bad input, sent as a custom resource', () => {
  test.each(ALL.map((sent) => ({ ...sent.row, ...sent, sent })))(
    '$hosting: $row.row: $what',
    async ({ hosting, row, sent }) => {
      const outcome = outcomes.get(sent);
      if (row.unknown !== undefined) return await isLeftOut(sent, outcome);
      const message =
        outcome?.kind === 'taken'
          ? (await told(namespaces[hosting], outcome.name)).message
          : outcome?.kind === 'refused'
            ? outcome.message
            : `${outcome?.kind}`;
      expect(message).toContain('spec');
      for (const name of row.named) expect(message.toLowerCase()).toContain(name.toLowerCase());
    },
  );

  /** All the rest was stored; the operator makes of it what it makes of the rest. */
  async function isLeftOut({ hosting, row }: Sent, outcome: Outcome | undefined): Promise<void> {
    if (outcome?.kind !== 'left out') throw new Error(`not left out: ${JSON.stringify(outcome)}`);
    const rest = switchedOff(withoutUnknown(row));
    expect(holds(outcome.stored, rest)).toBe(true);
    expect(holds(outcome.stored, switchedOff(row.spec))).toBe(false);
    await told(beside[hosting], outcome.name, 'SwitchedOff');
  }

  test('all ways of refusal are there: by the rules of the custom resource, by leaving out, by the operator', () => {
    const kinds = Map.groupBy(outcomes.values(), ({ kind }) => kind);
    expect([...kinds].map(([kind]) => kind).sort()).toEqual(['left out', 'refused', 'taken']);
  });

  test('no pod, no route, no Job came of any of them', async () => {
    for (const namespace of Object.values(namespaces)) {
      expect(await list(namespace, 'pods,deployments,statefulsets,jobs,ingresses')).toEqual([]);
    }
  });
});

describe('what is taken, and confined', () => {
  test.each(HOSTING_MODES.flatMap((hosting) => NETWORK_HOSTS.map((host) => ({ hosting, host }))))(
    '$hosting: https://$host is one route, of that host alone, to its own Service',
    async ({ hosting, host }) => {
      const namespace = beside[hosting];
      const name = uniqueName('host');
      await send(namespace, resource(name, routed(`https://${host}`)));
      await told(namespace, name, 'Converged');
      const routes = await objects(namespace, 'ingresses', name);
      const rules = routes.flatMap(({ spec }) => (spec as { rules: { host: string; http: object }[] }).rules);
      expect(rules.map((rule) => rule.host)).toEqual([host]);
      const services = [...JSON.stringify(rules).matchAll(/"service":\{"name":"([^"]*)"/g)].map(
        ([, to]) => to,
      );
      const own = (await objects(namespace, 'services', name)).map(({ metadata }) => metadata.name);
      expect(own).toEqual(expect.arrayContaining(services));
      expect(services.length).toBeGreaterThan(0);
    },
  );

  test.each(HOSTING_MODES.flatMap((hosting) => confinedRows.map((row) => ({ ...row, hosting }))))(
    '$hosting: __proto__ as the name of $what means nothing',
    async ({ hosting, spec }) => {
      const namespace = beside[hosting];
      const name = uniqueName('proto');
      const stored = await send(namespace, resource(name, spec));
      expect(holds(stored['spec'], spec)).toBe(true);
      await told(namespace, name, 'Converged');
      const deployments = await objects(namespace, 'deployments', name);
      expect(deployments).toHaveLength(1);
      expect(JSON.stringify(deployments)).not.toContain('__proto__');
    },
  );

  test.each(BOTH)('$hosting: the writer of one namespace reaches no other', async ({ hosting }) => {
    const [mine, other] = [beside[hosting], namespaces[hosting]];
    const good = switchedOff(routed('https://a.example.com'));
    const away = resource(uniqueName('away'), good, { namespace: other });
    await expect(call(mine, 'POST', pathOf(mine), away)).rejects.toMatchObject({ status: 400 });
    await expect(call(mine, 'POST', pathOf(other), away)).rejects.toMatchObject({ status: 403 });
  });
});

/**
 * What a name leads to is looked at where it is resolved, in the first step of the build: test/unit/builder. Names of
 * networks, and addresses however they are written, get no Job.
 */
describe('a repository at a private address', () => {
  async function buildOf(hosting: HostingMode, repoUrl: string) {
    const namespace = beside[hosting];
    const name = uniqueName('build');
    await send(namespace, resource(name, built(repoUrl, buildName({ namespace, name }, 'r'))));
    return await waitFor(
      `the build of ${repoUrl} to be told of`,
      async () => {
        const { build } = await statusOf(namespace, name);
        return build?.phase === 'Failed' || build?.phase === 'Running' ? build : undefined;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  }

  test.each(PRIVATE_REPOSITORIES)('%s is built nowhere', async (url) => {
    const build = await buildOf('cloud', url);
    expect(build).toMatchObject({ phase: 'Failed', reason: 'GitHostRefused' });
    expect(build.message).toContain('private address');
    expect(build.job).toBeUndefined();
    expect(await buildOf('self_hosted', url)).toMatchObject({ reason: 'BuildsUnavailable' });
  });

  test('and a public one is, by the only Job that there is', async () => {
    const { job, phase } = await buildOf('cloud', 'https://git.example.com/a/b');
    expect(phase).toBe('Running');
    expect(await list(builds, 'jobs')).toEqual([`job.batch/${job}`]);
  });
});

test('what else is there is tended as before', async () => {
  for (const hosting of HOSTING_MODES) {
    const namespace = beside[hosting];
    const name = uniqueName('good');
    await send(namespace, resource(name, routed(`https://${name}.example.com`)));
    await told(namespace, name, 'Converged');
  }
});
