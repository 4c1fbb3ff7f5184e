/**
 * As rights.test.ts, of what is not in the namespace of a deployment: the rights in the namespace of builds, on namespaces
 * of tenants, and on the Lease of the operators. Pods of builds are driven by the test.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  listenerBuildRights,
  namespaceRights,
  listenerLeaseRights as readsLease,
  workRights,
} from '../../../src/cluster/listener/rights.ts';
import { CHILD_KINDS, type ChildKindName } from '../../../src/cluster/operator/kinds.ts';
import { buildRights as jobRights, leaseRights, neededRights } from '../../../src/cluster/operator/rights.ts';
import { buildName } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import type { BerthProcess } from '../../installation/berth-process.ts';
import { startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import {
  createBuildNamespace,
  type DrivenBuilds,
  drivenBuilds,
  NO_NODE,
} from '../harness/build-namespace.ts';
import { deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';
import { type Grant, type Place, RightsInUse, watchesOf } from '../harness/rights-in-use.ts';

let use: RightsInUse;
let berth: WholeBerth;
let builds: DrivenBuilds;
let operator: BerthProcess;
let listener: BerthProcess;
/** Of the tenant. */
let workloads: string;
/** In the namespace of builds. */
let listens: Place;
let operates: Place;

beforeAll(async () => {
  use = new RightsInUse();
  const namespace = await createBuildNamespace('rights');
  builds = drivenBuilds(namespace);
  listens = { account: 'berth-listener', namespace };
  operates = { account: 'berth-operator', namespace };
  berth = await startWholeBerth('rights', {
    start: 'api',
    hosting: 'cloud',
    settings: {
      BERTH_REGISTRY: 'registry.example',
      BERTH_BUILD_NAMESPACE: namespace,
      BERTH_BUILD_NODE_SELECTOR: Object.entries(NO_NODE)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
    },
  });
  workloads = `berth-${berth.tenantId}`;
  operator = await berth.startRole('operator', 'operator');
  listener = await startListener('listener');
});
afterAll(async () => {
  await berth?.stop();
  await Promise.all([deleteNamespace(listens.namespace), deleteNamespace(workloads)]);
});

const startListener = (name: string) =>
  berth.startRole('listener', name, { BERTH_HUB_URL: berth.process().url });
const kubectl = (...args: string[]) => kubectlAsAdmin(['-n', workloads, ...args]);
const fromGit = (name: string) => ({
  name,
  source: 'git_host',
  source_config: { repo_url: 'https://git.example/team/app' },
  source_revision_config: { workflow_config_path: 'app.json', repo_ref: 'main' },
  secrets: [],
});

/** The Job of this revision, once it is there. */
const jobOf = (revisionId: string | null) =>
  waitFor(
    `the Job of ${revisionId}`,
    async () =>
      (await builds.jobs()).find(({ metadata }) => metadata.labels['berth.dev/revision-id'] === revisionId)
        ?.metadata.name,
    { timeoutMs: 60_000, intervalMs: 200 },
  );

/** Its pod is followed; a change of the deployment renews its credentials; a newer revision takes its place. */
async function built(id: string, revisionId: string | null): Promise<void> {
  const job = await jobOf(revisionId);
  await builds.set(job, { source: 'runs' });
  await use.until(listens, ['create secrets', 'list pods', 'get pods/log']);
  const changed = { source_config: { resource_spec: { min_scale: 2, max_scale: 2 } } };
  expect((await berth.call('PATCH', `/v2/deployments/${id}`, changed)).status).toBe(200);
  await use.until(listens, ['get secrets', 'patch secrets']);
  const newer = await berth.call<{ id: string }>('POST', `/v2/deployments/${id}/revisions`, {});
  expect(newer.status).toBe(201);
  await use.until(operates, ['delete jobs.batch']);
  await use.until(listens, ['list secrets', 'delete secrets']);
  await jobOf(newer.body.id);
}

/** Whose a Job is that bars the way of a new one, is looked at. */
async function barred(): Promise<void> {
  const secretName = buildName({ namespace: workloads, name: 'taken' }, 'r');
  const pod = { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: secretName } };
  await kubectlAsAdmin(
    ['-n', listens.namespace, 'create', '-f', '-'],
    JSON.stringify({ ...job, spec: { suspend: true, template: { spec: pod } } }),
  );
  const build = {
    revisionId: 'r',
    number: 1,
    repoUrl: 'https://git.example/team/app',
    configPath: 'app.json',
    repository: 'registry.example/a',
    secretName,
  };
  const spec = { revision: {}, build, database: { external: true }, cache: { external: true } };
  const resource = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'taken' },
  };
  await kubectlAsAdmin(['-n', workloads, 'create', '-f', '-'], JSON.stringify({ ...resource, spec }));
  await use.until(operates, ['get jobs.batch']);
  await kubectl('delete', 'mdep', 'taken');
}

test('builds a repository, and keeps a foreign Job when it deletes the Jobs of a deleted deployment', async () => {
  const { id, latest_revision_id: first } = await berth.create(fromGit('web'));
  await built(id, first);
  await barred();
  // The operator would take the Job away before the listener looks for what is left.
  await operator.stop();
  expect((await berth.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
  await use.until(listens, ['list jobs.batch', 'delete jobs.batch']);
  await waitFor(
    'the record to be gone',
    async () => (await berth.call('GET', `/v2/deployments/${id}`)).status === 404,
    { timeoutMs: 60_000, intervalMs: 200 },
  );
  expect(await builds.jobs()).toHaveLength(1);
}, 240_000);

test('the next listener restores a label that was removed from the namespace of a tenant', async () => {
  await listener.stop();
  const label = 'pod-security.kubernetes.io/warn';
  await kubectlAsAdmin(['label', 'namespace', workloads, `${label}-`]);
  listener = await startListener('second');
  await berth.create(fromGit('again'));
  await use.until({ account: 'berth-listener', namespace: workloads }, ['patch namespaces']);
  const { metadata } = JSON.parse(await kubectlAsAdmin(['get', 'namespace', workloads, '-o', 'json'])) as {
    metadata: { labels: Record<string, string> };
  };
  expect(metadata.labels[label]).toBe('restricted');
}, 120_000);

test('uses every granted right, and no other', async () => {
  // Watches are told of when they end.
  await listener.stop();
  const own = berth.settings['BERTH_NAMESPACE'] ?? '';
  const grants: Grant[] = [
    { ...operates, rights: jobRights() },
    { ...listens, rights: listenerBuildRights() },
    { ...operates, namespace: own, rights: leaseRights() },
    { ...listens, namespace: own, rights: readsLease() },
  ];
  for (const { rights, ...place } of grants) await use.until(place, watchesOf(rights));
  for (const grant of grants) {
    const what = `${grant.account} in ${grant.namespace}`;
    expect(use.compare(grant), what).toEqual({ unused: [], beyond: [], refused: [] });
  }
}, 120_000);

test("uses every right on the tenant's namespace, and in it no right that rights.test.ts does not cover", () => {
  const onNamespaces = namespaceRights('cloud');
  const listener = { ...listens, namespace: workloads };
  expect(use.compare({ ...listener, rights: onNamespaces }).unused).toEqual([]);
  const all = use.compare({ ...listener, rights: [...workRights(), ...onNamespaces] });
  expect([all.beyond, all.refused]).toEqual([[], []]);
  const kinds = Object.keys(CHILD_KINDS) as ChildKindName[];
  const ofOperator = use.compare({ ...operates, namespace: workloads, rights: neededRights(kinds) });
  expect([ofOperator.beyond, ofOperator.refused]).toEqual([[], []]);
});
