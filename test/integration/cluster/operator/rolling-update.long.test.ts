/**
 * An upgrade from the version before the newest migration, and the way back: both versions side by side on one
 * database and one cluster, in every mixture that a rolling update goes through.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectl as kubectlOf } from '../../../cluster/kubectl.ts';
import { type OrdinaryDatabase, ordinaryDatabase } from '../../../cluster/ordinary-database.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  type BerthProcess,
  createTenantKey,
  runBerth,
  startBerth,
} from '../../../installation/berth-process.ts';
import {
  BERTH_NAMESPACE,
  installBerth,
  installedObjects,
  roleKubeconfigs,
} from '../../../installation/install.ts';
import { type DeploymentAnswer, isReady, type KubeItem, smallDeployment } from '../../harness/berth.ts';
import { postgres } from '../../harness/environment.ts';
import { checkOut, previousVersion } from '../../harness/previous-version.ts';
import { type RemoteCluster, startRemoteCluster } from '../../harness/remote-cluster.ts';

type Version = 'old' | 'new';
type Role = 'api' | 'listener' | 'operator';
type StoredFailure = { failureSource?: Record<string, unknown> } & Record<string, unknown>;
type StoredResource = {
  metadata: { generation: number };
  spec: Record<string, unknown>;
  status?: { symptoms?: StoredFailure[]; failedRevision?: StoredFailure } & Record<string, unknown>;
};

const APPS = 'apps';
const previous = previousVersion();
if ('missing' in previous) console.warn(`the rolling update is not tested: ${previous.missing}`);

describe.skipIf('missing' in previous)('a rolling update from the previous version', () => {
  let remote: RemoteCluster;
  let database: OrdinaryDatabase;
  let checkout: string;
  let settings: Record<string, string>;
  let apiKey: string;
  const running = new Map<string, BerthProcess>();
  const ids: string[] = [];
  /** Deployments whose failure the old operator stored before the upgrade: of a revision, and of running pods. */
  const stalled = { failed: '', crashing: '' };
  /** A deployment with failed revisions, and the revision that each combination of versions reported. */
  const failing = { id: '', byOld: '', byNewListener: '', byNew: '' };

  const start = async (version: Version, role: Role): Promise<BerthProcess> => {
    const hub = running.get('new api') ?? running.get('old api');
    const process = await startBerth({
      stateDir: remote.stateDir,
      role,
      name: `${version}-${role}`,
      settings: { ...settings, ...(hub === undefined ? {} : { BERTH_HUB_URL: hub.url }) },
      checkout: version === 'old' ? checkout : undefined,
    });
    running.set(`${version} ${role}`, process);
    return process;
  };
  const stop = async (version: Version, role: Role): Promise<void> => {
    await running.get(`${version} ${role}`)?.stop();
    running.delete(`${version} ${role}`);
  };
  const stopAll = async (version: Version) => {
    for (const role of ['listener', 'operator', 'api'] as const) await stop(version, role);
  };

  const call = async (version: Version, method: string, path: string, body?: unknown) => {
    const response = await fetch(new URL(path, running.get(`${version} api`)?.url), {
      method,
      headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${version}: ${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as DeploymentAnswer;
  };
  const ready = (version: Version, id: string) =>
    waitFor(
      `the ${version} API to report ${id} as READY`,
      async () => {
        const answer = await call(version, 'GET', `/v2/deployments/${id}`);
        if (isReady(answer)) return answer;
        throw new Error(JSON.stringify(answer.conditions));
      },
      { timeoutMs: 60_000 },
    );
  const create = async (version: Version, name: string) => {
    const { id } = await call(version, 'POST', '/v2/deployments', smallDeployment(name));
    ids.push(id);
    await ready(version, id);
    return id;
  };
  /** A new revision by the API of one version, seen to its end through the other's where both run. */
  const revise = async (version: Version, id: string, tag: string, seenBy: Version = version) => {
    const body = { source_revision_config: { image_uri: `registry.example/shop/web:${tag}` } };
    const { latest_revision_id } = await call(version, 'PATCH', `/v2/deployments/${id}`, body);
    expect((await ready(seenBy, id)).active_revision_id).toBe(latest_revision_id);
  };

  /** Rolls out a revision that fails, through the API of one version. @param more other fields of the PATCH */
  const fail = async (version: Version, id: string, tag: string, more: object = {}): Promise<string> => {
    const body = { source_revision_config: { image_uri: `registry.example/shop/web:${tag}` }, ...more };
    const { latest_revision_id } = await call(version, 'PATCH', `/v2/deployments/${id}`, body);
    const path = `/v2/deployments/${id}/revisions/${latest_revision_id}`;
    await waitFor(
      `${path} to fail`,
      async () => (await call(version, 'GET', path)).status === 'DEPLOY_FAILED',
      { timeoutMs: 60_000 },
    );
    return latest_revision_id ?? '';
  };
  /** Rolls out a revision that fails together with a request that equals its limit, until the former revision is back. */
  const failWithSize = async (id: string): Promise<void> => {
    const resource_spec = { cpu: 0.3, cpu_limit: 0.3 };
    await fail('new', id, 'fail-invalid-image.4', { source_config: { resource_spec } });
    await waitFor(
      `the former revision of ${id} to run again`,
      async () => {
        const { conditions } = await call('new', 'GET', `/v2/deployments/${id}`);
        if (conditions.some(({ reason }) => reason === 'RolledBack')) return true;
        throw new Error(JSON.stringify(conditions));
      },
      { timeoutMs: 60_000 },
    );
  };
  /** An explanation of the old version lacks `effects`. Responses to `fetch` must conform to the current OpenAPI document. */
  const readFromOld = async (path: string): Promise<unknown> => {
    const url = new URL(path, running.get('old api')?.url);
    const [response] = (await once(get(url, { headers: { 'x-api-key': apiKey } }), 'response')) as [
      IncomingMessage,
    ];
    expect(response.statusCode).toBe(200);
    return await json(response);
  };
  /** The source of a failure, as the API of this version explains it. */
  const sourceOf = async (version: Version, id: string, revisionId: string): Promise<unknown> => {
    const path = `/v2/deployments/${id}/revisions/${revisionId}/explain`;
    const explained: unknown = version === 'new' ? await call('new', 'GET', path) : await readFromOld(path);
    const { causes } = explained as { causes: { level: string; object: unknown }[] };
    return causes.find(({ level }) => level === 'object')?.object;
  };
  const SOURCE = { component: 'api', kind: 'Pod', container: 'app' };

  /** What would be another if anything had restarted: pod templates, and the pods themselves. */
  const workloads = async (): Promise<Record<string, unknown>> => {
    const list = await remote.kubectl('get', 'deployments,statefulsets,pods', '-n', APPS, '-o', 'json');
    const { items } = JSON.parse(list) as { items: KubeItem[] };
    return Object.fromEntries(
      items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ kind, metadata, spec }) => [
          `${kind} ${metadata.name}`,
          kind === 'Pod' ? metadata.uid : spec['template'],
        ]),
    );
  };
  /** The custom resource of a deployment, as it is stored. */
  const stored = async (id: string): Promise<StoredResource> => {
    const selector = `berth.dev/deployment-id=${id}`;
    const list = await remote.kubectl('get', 'mdep', '-n', APPS, '-l', selector, '-o', 'json');
    const [item] = (JSON.parse(list) as { items: StoredResource[] }).items;
    if (item === undefined) throw new Error(`there is no custom resource of ${id}`);
    return item;
  };
  const hasNames = (object: object | undefined, present: string, absent: string) => {
    expect(object).toHaveProperty(present);
    expect(object).not.toHaveProperty(absent);
  };

  /**
   * The failed revision and the symptom of crashes that are stored.
   * @param time name of the field with the first time of a symptom. The operator that writes this name has reported
   */
  const storedFailures = (time: 'since' | 'firstObservedTime') =>
    waitFor(
      'a failed revision and a symptom with their sources',
      async () => {
        const { status: ofFailed } = await stored(stalled.failed);
        const { status: ofCrashing } = await stored(stalled.crashing);
        const { failedRevision } = ofFailed ?? {};
        const symptom = ofCrashing?.symptoms?.find((each) => each['reason'] === 'CrashLoop' && time in each);
        if (failedRevision?.failureSource && symptom?.failureSource) return { failedRevision, symptom };
        throw new Error(JSON.stringify([failedRevision, symptom]));
      },
      { timeoutMs: 90_000 },
    );
  /** Makes the running pods of a deployment crash, without a rollout. */
  const crashPods = async (id: string) => {
    const selector = `berth.dev/deployment-id=${id},app.kubernetes.io/component=api`;
    await remote.kubectl('label', 'pods', '-n', APPS, '-l', selector, 'sim.example/fail=crash-loop');
  };

  beforeAll(async () => {
    if ('missing' in previous) return;
    remote = await startRemoteCluster({ install: false });
    checkout = join(remote.stateDir, 'previous-version');
    mkdirSync(checkout);
    checkOut(previous.commit, checkout);
    await kubectlOf(remote.access, ['apply', '--server-side', '-f', join(checkout, 'crds')]);
    const items = installedObjects().filter(({ kind }) => kind !== 'CustomResourceDefinition');
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await kubectlOf(remote.access, ['apply', '--server-side', '-f', '-'], list);
    await remote.kubectl('create', 'namespace', APPS);
    database = await ordinaryDatabase(await postgres());
    const kubeconfigs = await roleKubeconfigs(remote.access, remote.stateDir);
    settings = {
      DATABASE_URL: database.url,
      BERTH_HOST: '127.0.0.1',
      BERTH_PORT: '0',
      BERTH_METRICS_PORT: '0',
      BERTH_ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
      BERTH_LISTENER_KUBECONFIG: kubeconfigs.listener,
      BERTH_OPERATOR_KUBECONFIG: kubeconfigs.operator,
      BERTH_LISTENER_KEY: randomBytes(32).toString('hex'),
      BERTH_NAMESPACE,
      BERTH_NAMESPACES: APPS,
      BERTH_MIN_READY_SECONDS: '1',
      // A standby listener takes over within a quarter of it.
      BERTH_LEASE_SECONDS: '16',
    };
    await runBerth(remote.stateDir, ['migrate'], settings, checkout);
    ({ apiKey } = await createTenantKey(remote.stateDir, 'test', settings, checkout));
    await start('old', 'api');
    await start('old', 'operator');
    await start('old', 'listener');
  });
  afterAll(async () => {
    await Promise.all([...running.values()].map((process) => process.stop()));
    await remote?.stop();
    await database?.drop();
  });

  it('stores a failed revision and a symptom under the names of the old version', async () => {
    for (const name of ['failed', 'crashing'] as const) {
      stalled[name] = (await call('old', 'POST', '/v2/deployments', smallDeployment(`broken-${name}`))).id;
      await ready('old', stalled[name]);
    }
    await fail('old', stalled.failed, 'fail-crash-loop');
    await crashPods(stalled.crashing);
    const { failedRevision, symptom } = await storedFailures('since');
    expect(failedRevision).toMatchObject({ failureSource: { container_kind: 'app', exit_code: 7 } });
    expect(symptom).toMatchObject({
      since: expect.any(String),
      failureSource: { container_kind: 'app', exit_code: 1 },
    });
  });

  it('upgrades CRD and database under the old version, which continues to work', async () => {
    const first = await create('old', 'first');
    const before = await workloads();
    await installBerth(remote.access);
    await runBerth(remote.stateDir, ['migrate'], settings);
    expect(await workloads()).toEqual(before);
    const { spec, status } = await stored(first);
    hasNames(spec, 'generation', 'recordGeneration');
    hasNames(status, 'observedSpecGeneration', 'observedRecordGeneration');
    await revise('old', first, '2.0.0');
    await create('old', 'second');
  });

  it('reports the source of a failure to the old API, by the old listener and by the new one', async () => {
    failing.id = (await call('old', 'POST', '/v2/deployments', smallDeployment('failing'))).id;
    await ready('old', failing.id);
    failing.byOld = await fail('old', failing.id, 'fail-invalid-image');
    expect(await sourceOf('old', failing.id, failing.byOld)).toMatchObject(SOURCE);
    await stop('old', 'listener');
    await start('new', 'listener');
    failing.byNewListener = await fail('old', failing.id, 'fail-invalid-image.2');
    expect(await sourceOf('old', failing.id, failing.byNewListener)).toMatchObject(SOURCE);
    await stop('new', 'listener');
    await start('old', 'listener');
  });

  it('serves both APIs on one database, with the old listener and operator', async () => {
    const before = await workloads();
    await start('new', 'api');
    for (const id of ids) expect((await call('new', 'GET', `/v2/deployments/${id}`)).status).toBe('READY');
    expect(await workloads()).toEqual(before);
    const [first = '', second = ''] = ids;
    await create('new', 'third');
    await revise('new', first, '3.0.0', 'old');
    await revise('old', second, '2.0.0', 'new');
  });

  it('reports each deployment with upgrade-preview of the new version, and changes nothing', async () => {
    const before = await workloads();
    // Exit code 2 (something would change) is no failure, but counts as one where programs are run.
    const text = await runBerth(remote.stateDir, ['upgrade-preview', '-o', 'json'], settings).catch(
      ({ cause }: { cause: { code: number; stdout: string } }) => {
        expect(cause.code).toBe(2);
        return cause.stdout;
      },
    );
    const preview = JSON.parse(text) as {
      changed: number;
      deployments: { namespace: string; revision: number; changes: object[]; problem?: string }[];
    };
    expect(
      preview.deployments.map(({ namespace, revision, problem }) => [namespace, revision, problem]),
    ).toEqual([
      [APPS, 1, undefined],
      [APPS, 1, undefined],
      [APPS, 1, undefined],
      [APPS, 3, undefined],
      [APPS, 2, undefined],
      [APPS, 1, undefined],
    ]);
    expect(preview.changed).toBe(preview.deployments.filter(({ changes }) => changes.length > 0).length);
    expect(await workloads()).toEqual(before);
  });

  it('replaces operator and listener without a restart of workloads; they then work for both APIs', async () => {
    const before = await workloads();
    const failures = await storedFailures('since');
    await start('new', 'operator');
    await start('new', 'listener');
    await stop('old', 'operator');
    await stop('old', 'listener');
    const [first = '', second = '', third = ''] = ids;
    const active = (await call('new', 'GET', `/v2/deployments/${third}`)).active_revision_id;
    // New changes go through them; the unchanged deployments stay the same.
    await revise('new', second, '3.0.0', 'old');
    const after = await workloads();
    const untouched = Object.keys(before).filter((name) => !name.includes(second.slice(-8)));
    expect(untouched.length).toBeGreaterThan(6);
    for (const name of untouched) expect([name, after[name]]).toEqual([name, before[name]]);
    // The status has the names of both versions until the listener writes the spec with the current names.
    const unchanged = await stored(third);
    hasNames(unchanged.spec, 'generation', 'recordGeneration');
    expect(unchanged.status).toMatchObject({
      deploymentStatus: 'READY',
      status: 'READY',
      observedRecordGeneration: unchanged.spec['generation'],
      observedSpecGeneration: unchanged.spec['generation'],
    });
    expect((await ready('new', third)).active_revision_id).toBe(active);
    const changed = await stored(second);
    hasNames(changed.spec, 'recordGeneration', 'generation');
    hasNames(changed.status, 'observedRecordGeneration', 'observedSpecGeneration');
    await revise('old', first, '4.0.0', 'new');
    // What the old operator stored was read, not observed again: the symptom keeps its first time.
    const now = await storedFailures('firstObservedTime');
    expect(now.failedRevision).toMatchObject({
      id: failures.failedRevision['id'],
      failureSource: { containerKind: 'app', exitCode: 7 },
    });
    expect(now.symptom).toMatchObject({
      firstObservedTime: failures.symptom['since'],
      failureSource: { containerKind: 'app', exitCode: 1 },
    });
    const { latest_revision_id } = await call('new', 'GET', `/v2/deployments/${stalled.failed}`);
    const source = { component: 'api', container_kind: 'app', exit_code: 7 };
    expect(await sourceOf('new', stalled.failed, latest_revision_id ?? '')).toMatchObject(source);
  });

  it('explains failures of both versions in both APIs, and names their source in the history', async () => {
    failing.byNew = await fail('new', failing.id, 'fail-invalid-image.3');
    for (const revisionId of [failing.byOld, failing.byNewListener, failing.byNew]) {
      expect(await sourceOf('old', failing.id, revisionId)).toMatchObject(SOURCE);
      expect(await sourceOf('new', failing.id, revisionId)).toMatchObject(SOURCE);
    }
    const history: unknown = await call('new', 'GET', `/v2/deployments/${failing.id}/events?limit=100`);
    const { resources } = history as { resources: { details: { to?: string; failure_source?: object } }[] };
    const failures = resources.filter(({ details }) => details.to === 'DEPLOY_FAILED');
    expect(failures.map(({ details }) => details.failure_source)).toMatchObject([SOURCE, SOURCE, SOURCE]);
  });

  it('runs the new version alone, and rolls back to the old one on the new database and CRD', async () => {
    await stop('old', 'api');
    await create('new', 'fourth');
    await failWithSize(failing.id);
    const before = await workloads();
    await stopAll('new');
    await start('old', 'api');
    await start('old', 'operator');
    await start('old', 'listener');
    const [first = '', second = '', third = '', fourth = ''] = ids;
    for (const id of [second, third, fourth]) await ready('old', id);
    // The old listener finds another hash, so the hub sends these resources again.
    for (const id of [second, fourth, failing.id]) {
      await waitFor(
        `the spec of ${id} to have the names of the old version, and to be observed`,
        async () => {
          const { metadata, spec, status } = await stored(id);
          return 'generation' in spec && status?.['observedGeneration'] === metadata.generation;
        },
        { timeoutMs: 60_000 },
      );
    }
    await revise('old', first, '5.0.0');
    const after = await workloads();
    for (const name of Object.keys(before).filter((found) => !found.includes(first.slice(-8)))) {
      expect([name, after[name]]).toEqual([name, before[name]]);
    }
    for (const process of running.values()) {
      expect(readFileSync(process.logPath, 'utf8')).not.toMatch(/"level":(50|60)/);
    }
  });
});
