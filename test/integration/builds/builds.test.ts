/** Builds on the real API server: the operator creates, ends and reports Jobs; the test drives their pods. */
import type { ChildProcess } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { managedDeploymentSpecSchema } from '../../../src/contract/resource/managed-deployment.ts';
import { buildName } from '../../../src/contract/resource/names.ts';
import { uuidv7 } from '../../../src/domain/core/id.ts';
import { buildJob } from '../../../src/workloads/objects/build-job.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  buildConfig,
  COMMIT,
  createBuildNamespace,
  DIGEST,
  type DrivenBuilds,
  drivenBuilds,
} from '../harness/build-namespace.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';
import {
  condition,
  forkOperator,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';

const REPOSITORY = 'registry.example/t/shop';

let world: OperatorWorld;
let namespace: string;
let builds: DrivenBuilds;
const operators: RunningOperator[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  [world, namespace] = await Promise.all([operatorWorld('builds'), createBuildNamespace('ops')]);
  builds = drivenBuilds(namespace);
});
afterEach(async () => {
  await Promise.all(operators.splice(0).map((operator) => operator.stop()));
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await world.kubectl('delete', 'mdep', '--all', '--wait=false');
  await builds.kubectl('delete', 'jobs', '--all', '--wait=true');
});
afterAll(async () => {
  await world.end();
  await deleteNamespace(namespace);
});

async function operate(
  more: Parameters<typeof buildConfig>[1] = {},
  moreNamespaces: string[] = [],
): Promise<void> {
  const settings = { ...world.another('builder'), moreNamespaces };
  operators.push(await startOperator({ ...settings, builds: buildConfig(namespace, more) }));
}

interface Asked {
  name: string;
  revisionId: string;
  job: string;
}

async function ask(
  name: string,
  more: { place?: string; tenant?: string; revisionId?: string; number?: number } = {},
): Promise<Asked> {
  const { place = world.namespace, tenant = 't', revisionId = uuidv7(), number = 1 } = more;
  const secretName = buildName({ namespace: place, name }, revisionId);
  const spec = {
    deploymentId: `id-${name}`,
    tenantId: tenant,
    source: 'git_host',
    revision: { id: revisionId, number },
    build: {
      revisionId,
      number,
      repoUrl: 'https://git.example/shop/web',
      configPath: 'app.json',
      repository: REPOSITORY,
      secretName,
    },
    database: { external: true },
    cache: { external: true },
  };
  await world.apply(name, spec, place);
  return { name, revisionId, job: secretName };
}

const phase = (name: string, wanted: string) =>
  world.until(name, `${wanted}`, ({ build }) => build?.phase === wanted);

test('runs the steps of a build, and reports image and commit', async () => {
  await operate();
  const { name, job } = await ask('goes');
  await phase(name, 'Running');
  await builds.set(job, { source: 'runs' });
  await world.until(name, 'at its source', ({ build }) => build?.step === 'source');
  await builds.set(job, { source: { exitCode: 0 }, image: 'runs' });
  const building = await world.until(name, 'at its image', ({ build }) => build?.step === 'image');
  expect(condition(building, 'ImageReady')).toBe('False Building');
  await builds.succeed(job);
  const { build } = await phase(name, 'Succeeded');
  expect(build).toMatchObject({ job, attempt: 1, commit: COMMIT, image: `${REPOSITORY}@${DIGEST}` });
  expect(condition(await world.status(name), 'ImageReady')).toBe('True ImageBuilt');
  expect((await builds.jobs()).map(({ metadata }) => metadata.name)).toEqual([job]);
});

test.each(['source', 'image'] as const)(
  'reports the reason when the step %s fails, without a retry',
  async (step) => {
    await operate();
    const { name, job } = await ask(`fails-${step}`);
    const message =
      step === 'source'
        ? JSON.stringify({ reason: 'RefNotFound', message: 'no branch x' })
        : 'npm ERR! missing\nerror: failed to solve';
    const before = step === 'image' ? { source: { exitCode: 0 } } : {};
    await builds.set(job, { ...before, [step]: { exitCode: 1, message } });
    const { build } = await phase(name, 'Failed');
    expect(build).toMatchObject({ step, reason: step === 'source' ? 'RefNotFound' : 'BuildFailed' });
    expect(build?.message).toContain(step === 'source' ? 'no branch x' : 'npm ERR! missing');
    expect(await builds.jobs()).toHaveLength(1);
  },
);

test('retries a build whose Job or pod is lost, and fails it after the third attempt', async () => {
  await operate();
  const { name, job } = await ask('lost');
  await phase(name, 'Running');
  await builds.kubectl('delete', 'job', job, '--wait=true');
  const { build } = await world.until(
    name,
    'tried again',
    ({ build: reported }) => reported?.attempt === 2 && reported.phase === 'Running',
  );
  expect(build?.job).toBe(`${job}-2`);
  await builds.kubectl('delete', 'job', `${job}-2`);
  await world.until(
    name,
    'tried a third time',
    ({ build: reported }) => reported?.attempt === 3 && reported.phase === 'Running',
  );
  await builds.kubectl('delete', 'pod', await builds.pod(`${job}-3`), '--wait=false');
  const last = await phase(name, 'Failed');
  expect(last.build).toMatchObject({ reason: 'BuildLost', attempt: 3 });
});

test('fails a build that exceeds its deadline, and reports its step', async () => {
  await operate();
  const { name, job } = await ask('slow');
  await builds.set(job, { source: { exitCode: 0 }, image: 'runs' });
  await world.until(name, 'at its image', ({ build }) => build?.step === 'image');
  // Make the deadline pass, whatever the machine's speed.
  await builds.kubectl('patch', 'job', job, '--type=merge', '-p', '{"spec":{"activeDeadlineSeconds":1}}');
  const { build } = await phase(name, 'Failed');
  expect(build).toMatchObject({ reason: 'BuildTimeout', step: 'image' });
});

test('shares two slots fairly between three tenants, whatever tenant id their resources claim', async () => {
  const [b, c] = await Promise.all([createNamespace('fair-b'), createNamespace('fair-c')]);
  const asked = new Map<string, string>();
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const tenant = index < 14 ? 'a' : index < 17 ? 'b' : 'c';
      const place = { a: world.namespace, b, c }[tenant];
      const { job } = await ask(`fair-${index}`, { place, tenant: `invented-${index}` });
      asked.set(job, tenant);
    }),
  );
  await operate({ limits: { total: 2, perTenant: 2 } }, [b, c]);
  const order: string[] = [];
  let most = 0;
  for (let ended = 0; ended < 20; ended += 1) {
    // The build that began first ends first; none begins until one has ended.
    await waitFor(
      'two builds to run',
      async () => {
        const running = await builds.running();
        most = Math.max(most, running.length);
        order.push(...running.filter((job) => !order.includes(job)));
        return order.length >= Math.min(20, ended + 2);
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
    await builds.set(order[ended] ?? '', { source: { exitCode: 1, message: 'no' } });
  }
  expect(most).toBe(2);
  expect(new Set(order).size).toBe(20);
  const first = order.slice(0, 10).map((job) => asked.get(job));
  expect(first.filter((tenant) => tenant === 'b')).toHaveLength(3);
  expect(first.filter((tenant) => tenant === 'c')).toHaveLength(3);
  await Promise.all([b, c].map(deleteNamespace));
}, 300_000);

test('replaces the build of a revision by the build of a newer revision', async () => {
  await operate();
  const old = await ask('newest');
  await phase(old.name, 'Running');
  const fresh = await ask('newest', { number: 2 });
  const { build } = await world.until('newest', 'builds the newer one', ({ build: reported }) => {
    return reported?.revisionId === fresh.revisionId && reported.phase === 'Running';
  });
  expect(build).toMatchObject({ number: 2, attempt: 1, job: fresh.job });
  expect((await builds.jobs()).map(({ metadata }) => metadata.name)).toEqual([fresh.job]);
});

test('removes a build with its deployment', async () => {
  await operate();
  const { name } = await ask('gone');
  await phase(name, 'Running');
  await world.kubectl('delete', 'mdep', name);
  await waitFor('no Job', async () => ((await builds.jobs()).length === 0 ? true : undefined), {
    timeoutMs: 60_000,
  });
});

test('reports a Job of the same name with another owner', async () => {
  const revisionId = uuidv7();
  const job = buildName({ namespace: world.namespace, name: 'taken' }, revisionId);
  const foreign = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job },
    spec: {
      suspend: true,
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } },
    },
  };
  await kubectlAsAdmin(['-n', namespace, 'apply', '-f', '-'], JSON.stringify(foreign));
  await operate();
  await ask('taken', { revisionId });
  const { build } = await world.until(
    'taken',
    'reported',
    ({ build: reported }) => reported?.reason === 'Conflict',
  );
  expect(build).toMatchObject({
    phase: 'Waiting',
    message: expect.stringContaining('that Berth did not create'),
  });
});

test('continues with the same Job when the operator is killed before it writes the status', async () => {
  const child = forkOperator({ ...world.another('killed'), builds: buildConfig(namespace) });
  children.push(child);
  const { name, job } = await ask('killed');
  const made = await waitFor(
    'the Job',
    async () => (await builds.jobs()).find(({ metadata }) => metadata.name === job)?.metadata.uid,
    { timeoutMs: 60_000, intervalMs: 5 },
  );
  child.kill('SIGKILL');
  await operate();
  await phase(name, 'Running');
  await builds.succeed(job);
  expect((await phase(name, 'Succeeded')).build).toMatchObject({ job, attempt: 1 });
  expect((await builds.jobs()).map(({ metadata }) => metadata.uid)).toEqual([made]);
});

describe('the Job of a build', () => {
  const at = { namespace: 'team', name: 'shop' };
  const build = {
    revisionId: 'r1',
    number: 1,
    repoUrl: 'https://git.example/shop/web',
    ref: '-x$(HOME)',
    configPath: 'app.json',
    installCommand: 'npm ci\nnpm test',
    repository: REPOSITORY,
    secretName: buildName(at, 'r1'),
  };
  const spec = managedDeploymentSpecSchema.parse({ deploymentId: 'd', tenantId: 't', revision: {}, build });
  const resource = { metadata: at, spec } as ManagedDeployment;
  const podOf = (where: string, host: string | null) => {
    const job = buildJob(resource, build, buildConfig(where, { buildkitHost: host, cache: true }), 1);
    const { template } = job.spec as { template: { metadata: object; spec: object } };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name: 'trial' },
      spec: template.spec,
    };
  };
  const dryRun = (where: string, object: object) =>
    kubectlAsAdmin(
      ['-n', where, 'apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'],
      JSON.stringify(object),
    );

  test('is accepted by the API server with strict validation', async () => {
    const job = buildJob(resource, build, buildConfig(namespace), 1);
    await expect(dryRun(namespace, job)).resolves.toContain('serverside-applied');
  });

  test('has a pod that the build namespace accepts and the level baseline rejects', async () => {
    await expect(dryRun(namespace, podOf(namespace, null))).resolves.toContain('serverside-applied');
    const baseline = await createNamespace('baseline');
    await kubectlAsAdmin(['label', 'namespace', baseline, 'pod-security.kubernetes.io/enforce=baseline']);
    const atBaseline = () => dryRun(baseline, podOf(baseline, null));
    // The API server applies a new label a moment later.
    const isRefused = () =>
      atBaseline().then(
        () => false,
        () => true,
      );
    await waitFor('the label to count', isRefused, { timeoutMs: 30_000 });
    await expect(atBaseline()).rejects.toThrow(/violates PodSecurity "baseline/);
    // With the daemon elsewhere, the step needs no more than `restricted` allows.
    await kubectlAsAdmin([
      'label',
      '--overwrite',
      'namespace',
      baseline,
      'pod-security.kubernetes.io/enforce=restricted',
    ]);
    await expect(dryRun(baseline, podOf(baseline, 'tcp://buildkitd:1234'))).resolves.toContain(
      'serverside-applied',
    );
    await deleteNamespace(baseline);
  });
});
