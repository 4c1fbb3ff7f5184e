/** Resources that a listener of the previous version wrote, beside an operator of either version. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type ApplyDeps, applyItem } from '../../../../src/cluster/listener/apply/apply.ts';
import { EnvSecrets } from '../../../../src/cluster/listener/apply/env-secrets.ts';
import { IdentityRecords } from '../../../../src/cluster/listener/apply/identity-records.ts';
import { PullSecrets } from '../../../../src/cluster/listener/apply/pull-secret.ts';
import { TenantNamespaces } from '../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { inventoryItem, observedReport } from '../../../../src/cluster/listener/report/observe.ts';
import { isEdited, type Resource, specHashOf } from '../../../../src/cluster/listener/resource-view.ts';
import { formerSpec, statusWithBothNames } from '../../../../src/contract/resource/former-names.ts';
import { contentHash } from '../../../../src/domain/core/hash.ts';
import { recordingLogger } from '../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, OURS, specOf, workSpec } from './fixtures.ts';

const TIMES = { requestTime: '2026-01-01T00:00:00Z', restorableUntilTime: '2026-01-02T00:00:00Z' };

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});

function former(generation: number, status?: object): Resource {
  const spec = formerSpec<Resource['spec']>(specOf(generation, { deletion: TIMES }));
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: {
      name: NAME,
      namespace: NAMESPACE,
      labels: OURS,
      annotations: { 'berth.dev/spec-hash': contentHash(spec) },
    },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

const item = (generation: number) =>
  applyWork({ generation, spec: workSpec(specOf(generation, { deletion: TIMES })) });

async function apply(generation: number): Promise<unknown> {
  const { client } = cluster;
  const logger = recordingLogger();
  const deps: ApplyDeps = {
    client,
    view: cluster.view(),
    secrets: new EnvSecrets({ client, logger }),
    pullSecrets: new PullSecrets(client),
    identities: new IdentityRecords(client),
    namespaces: new TenantNamespaces({ client, podSecurity: 'restricted', quota: null }),
    logger,
    guard: () => {},
  };
  return (await applyItem(item(generation), false, deps, new AbortController().signal)).kind;
}
const spec = () => cluster.get('ManagedDeployment', NAME)?.['spec'] as Record<string, unknown>;

describe('a resource with the names of the previous version', () => {
  test('has the hash and the generation that the hub knows, and counts as not edited', () => {
    const resource = former(4);
    const current = { ...resource, spec: specOf(4, { deletion: TIMES }) };
    expect(specHashOf(resource)).toBe(item(4).spec_hash);
    expect(specHashOf(current)).toBe(item(4).spec_hash);
    expect([isEdited(resource), isEdited(current)]).toEqual([false, false]);
    expect([inventoryItem(resource)?.generation, inventoryItem(current)?.generation]).toEqual([4, 4]);
  });

  test('is not written when nothing differs but the names', async () => {
    cluster.put({ ...former(4, { deploymentStatus: 'READY' }) });
    expect(await apply(4)).toBe('done');
    expect(cluster.writes()).toEqual([]);
  });

  test('is not overwritten when it has a later generation', async () => {
    cluster.put({ ...former(5) });
    expect(await apply(4)).toBe('late');
  });

  test('keeps its names while an operator of the previous version reports its status', async () => {
    cluster.put({ ...former(1, { status: 'READY', observedSpecGeneration: 1 }) });
    await apply(2);
    expect(spec()).toMatchObject({ generation: 2, deletion: { requestedAt: TIMES.requestTime } });
    expect(spec()).not.toHaveProperty('recordGeneration');
  });

  test('gets the current names with the first change after the operator was upgraded', async () => {
    cluster.put({ ...former(1, { ...statusWithBothNames({ deploymentStatus: 'READY' }) }) });
    await apply(2);
    expect(spec()).toMatchObject({ recordGeneration: 2, deletion: TIMES });
    expect(spec()).not.toHaveProperty('generation');
  });

  test('is reported to the hub as before, whichever version wrote the status', () => {
    const conditions: [] = [];
    const routes = { generation: 4, hosts: ['a'] };
    const build = { revisionId: 'r2', number: 2, phase: 'Running', startedAt: TIMES.requestTime };
    const symptom = { component: 'api', reason: 'CrashLoop', message: 'm' };
    const of = (status: object) => observedReport(former(4, status));
    const earlier = of({
      observedSpecGeneration: 4,
      conditions,
      routes,
      build,
      symptoms: [{ ...symptom, since: TIMES.requestTime, quietSince: TIMES.requestTime }],
    });
    expect(earlier).toMatchObject({ observed_spec_generation: 4, routes, build });
    expect(earlier?.symptoms).toEqual([{ ...symptom, since: TIMES.requestTime, quiet: true }]);
    const { startedAt, ...phase } = build;
    const times = { firstObservedTime: startedAt, lastObservedTime: startedAt };
    const current = {
      observedRecordGeneration: 4,
      conditions,
      routes: { recordGeneration: 4, hosts: ['a'] },
      build: { ...phase, startTime: startedAt },
      symptoms: [{ ...symptom, ...times }],
    };
    expect(of(current)).toEqual(earlier);
    expect(of(statusWithBothNames(current as Resource['status'] & object))).toEqual(earlier);
  });
});

test('a new resource gets the current names', async () => {
  await apply(1);
  expect(spec()).toMatchObject({ recordGeneration: 1, deletion: TIMES });
  expect(spec()).not.toHaveProperty('generation');
});
