import { beforeEach, describe, expect, test } from 'vitest';
import { BuildSecrets } from '../../../../../src/cluster/listener/builds/build-secrets.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import type { ApplyWork } from '../../../../../src/contract/protocol/work-protocol.ts';
import { buildName, formerBuildName } from '../../../../../src/contract/resource/names.ts';
import { buildLabels } from '../../../../../src/workloads/objects/build-job.ts';
import { recordingLogger } from '../../kube/support.ts';
import { applyWork, FakeCluster, NAME, NAMESPACE, specOf, workSpec } from '../fixtures.ts';

const BUILDS = 'berth-builds';
const REVISION = '01900000-0000-7000-8000-0000000000b1';
const PLACE = { namespace: NAMESPACE, name: NAME };
const PRESENT = buildName(PLACE, REVISION);
const FORMER = formerBuildName(PLACE, REVISION);

let cluster: FakeCluster;
let builds: BuildSecrets;
const { signal } = new AbortController();
const guard = () => {};

beforeEach(() => {
  cluster = new FakeCluster();
  builds = new BuildSecrets({ client: cluster.client, namespace: BUILDS, logger: recordingLogger() });
});

/** A build request of this hub version or of the previous one. */
function building(secretName: string, phase?: string): Resource {
  const build = {
    revisionId: REVISION,
    number: 1,
    repoUrl: 'https://git.example/shop/web',
    configPath: 'app.json',
    repository: 'registry.example/shop',
    secretName,
  };
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { ...PLACE, uid: 'uid-1' },
    spec: specOf(1, { build }),
    ...(phase === undefined ? {} : { status: { build: { revisionId: REVISION, number: 1, phase } } }),
  } as unknown as Resource;
}

function item(name: string): ApplyWork {
  const { spec } = building(name);
  const build_secret = { name, revision_id: REVISION, data: { 'git-token': 'new' } };
  return applyWork({ spec: workSpec(spec), build_secret });
}

function putSecret(name: string, resource = building(FORMER)): void {
  cluster.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: BUILDS, labels: buildLabels(resource, REVISION) },
    data: { 'git-token': 'b2xk' },
  });
}

const secrets = () =>
  [...cluster.objects.values()].filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name);

const viewOf = (resource: Resource | undefined) => ({
  covers: () => true,
  trouble: (): string | undefined => undefined,
  get: () => resource,
});

test.each([PRESENT, FORMER])(
  'writes the Secret under its 128-bit name when the hub sends %s',
  async (name) => {
    await builds.ensure(item(name), guard, signal);
    expect(secrets()).toEqual([PRESENT]);
  },
);

test('does not trust a name that the hub sends for another namespace', async () => {
  await builds.ensure(item('another-tenants-secret'), guard, signal);
  expect(secrets()).toEqual([PRESENT]);
});

describe('a Secret that the previous version has written', () => {
  test('stays while its build runs, and is copied to the present name', async () => {
    putSecret(FORMER);
    await builds.tidy(viewOf(building(FORMER, 'Running')), guard, signal);
    expect(secrets().toSorted()).toEqual([FORMER, PRESENT].toSorted());
    const copy = cluster.get('Secret', PRESENT, BUILDS);
    expect(copy?.['data']).toEqual({ 'git-token': 'b2xk' });
    expect(copy?.metadata.labels).toEqual(cluster.get('Secret', FORMER, BUILDS)?.metadata.labels);
    const calls = cluster.writes().length;
    await builds.tidy(viewOf(building(FORMER, 'Running')), guard, signal);
    expect(cluster.writes()).toHaveLength(calls);
  });

  test('is removed with its copy when the build has ended', async () => {
    putSecret(FORMER);
    putSecret(PRESENT);
    await builds.tidy(viewOf(building(FORMER, 'Succeeded')), guard, signal);
    expect(secrets()).toEqual([]);
  });

  test('is removed when its resource is gone, and is not copied', async () => {
    putSecret(FORMER);
    await builds.tidy(viewOf(undefined), guard, signal);
    expect(secrets()).toEqual([]);
  });

  test('is removed when another revision is built', async () => {
    putSecret(formerBuildName(PLACE, 'r-before'));
    await builds.tidy(viewOf(building(FORMER, 'Running')), guard, signal);
    expect(secrets()).toEqual([]);
  });

  test('is removed with the deployment', async () => {
    putSecret(FORMER);
    putSecret(PRESENT);
    const remove = () => builds.remove(building(FORMER).spec.deploymentId ?? '', guard, signal);
    const found = await remove();
    expect(found.map(({ metadata }) => metadata.name).sort()).toEqual([FORMER, PRESENT].sort());
    expect(secrets()).toEqual([]);
    expect(await remove()).toEqual([]);
  });
});

test('keeps the Secrets of a namespace whose resources are not all listed yet', async () => {
  putSecret(PRESENT);
  const unread = { ...viewOf(undefined), trouble: () => 'it was not read yet' };
  await builds.tidy(unread, guard, signal);
  expect(secrets()).toEqual([PRESENT]);
});
