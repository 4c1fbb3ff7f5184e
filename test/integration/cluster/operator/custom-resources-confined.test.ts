/** What is taken as a custom resource, sent past the API, and what it comes to. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { FIXED_QUOTA } from '../../../../src/cluster/listener/apply/namespace-quota.ts';
import { TenantNamespaces } from '../../../../src/cluster/listener/apply/tenant-namespace.ts';
import { buildName } from '../../../../src/contract/resource/names.ts';
import { HOSTING_MODES, type HostingMode } from '../../../../src/domain/deployment/source.ts';
import { DEFAULT_POLICIES } from '../../../../src/domain/policy/policy.ts';
import { waitFor } from '../../../cluster/wait.ts';
import {
  built,
  confinedRows,
  NETWORK_HOSTS,
  PRIVATE_REPOSITORIES,
  routed,
  sizesAboveCloud,
  switchedOff,
} from '../../harness/custom-resource-table.ts';
import {
  BOTH,
  CustomResourceWorld,
  holds,
  list,
  objects,
  pathOf,
  resource,
} from '../../harness/custom-resource-world.ts';
import { deleteNamespace, environment, uniqueName } from '../../harness/environment.ts';

let world: CustomResourceWorld;
const tenant = uniqueName('tenant');

/** As the listener sets it up. Room for one pod or volume at the caps of the policy, and for nothing above them. */
async function makeTenant(): Promise<void> {
  const { cpu, memory_mb, storage_gi } = DEFAULT_POLICIES.cloud.caps;
  // Of pods twice as much, for rollouts.
  const quotas = { deployments: null, cpu: cpu / 2, memory_mb: memory_mb / 2, storage_gi };
  const { kubeconfigPath } = environment();
  const client = await createKubeClient({
    kubeconfigPath,
    userAgent: 'berth-test',
    requestTimeoutMs: 30_000,
  });
  const made = new TenantNamespaces({ client, podSecurity: 'restricted', quota: FIXED_QUOTA });
  const signal = AbortSignal.timeout(60_000);
  await made.ensure({ name: tenant, tenantId: 'past', quotas }, () => undefined, signal);
  await client.close();
}

beforeAll(async () => {
  await makeTenant();
  world = await CustomResourceWorld.start([tenant]);
}, 300_000);
afterAll(async () => {
  await world.end();
  await deleteNamespace(tenant);
});

describe('an accepted custom resource', () => {
  test.each(HOSTING_MODES.flatMap((hosting) => NETWORK_HOSTS.map((host) => ({ hosting, host }))))(
    'with the URL https://$host gets one route of that host to its own Service ($hosting)',
    async ({ hosting, host }) => {
      const namespace = world.acceptingNamespaces[hosting];
      const name = uniqueName('host');
      await world.send(namespace, resource(name, routed(`https://${host}`)));
      await world.untilReported(namespace, name, 'Converged');
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
    'gets no effect of __proto__ as the name of $what ($hosting)',
    async ({ hosting, spec }) => {
      const namespace = world.acceptingNamespaces[hosting];
      const name = uniqueName('proto');
      const stored = await world.send(namespace, resource(name, spec));
      expect(holds(stored['spec'], spec)).toBe(true);
      await world.untilReported(namespace, name, 'Converged');
      const deployments = await objects(namespace, 'deployments', name);
      expect(deployments).toHaveLength(1);
      expect(JSON.stringify(deployments)).not.toContain('__proto__');
    },
  );

  test.each(BOTH)('stays in the namespace of its writer ($hosting)', async ({ hosting }) => {
    const [mine, other] = [world.acceptingNamespaces[hosting], world.namespaces[hosting]];
    const good = switchedOff(routed('https://a.example.com'));
    const away = resource(uniqueName('away'), good, { namespace: other });
    await expect(world.call(mine, 'POST', pathOf(mine), away)).rejects.toMatchObject({ status: 400 });
    await expect(world.call(mine, 'POST', pathOf(other), away)).rejects.toMatchObject({ status: 403 });
  });
});

/**
 * What a name leads to is looked at where it is resolved, in the first step of the build: test/unit/builder. Names of
 * networks, and addresses however they are written, get no Job.
 */
describe('a repository at a private address', () => {
  async function buildOf(hosting: HostingMode, repoUrl: string) {
    const namespace = world.acceptingNamespaces[hosting];
    const name = uniqueName('build');
    await world.send(namespace, resource(name, built(repoUrl, buildName({ namespace, name }, 'r'))));
    return await waitFor(
      `the build of ${repoUrl} to be reported`,
      async () => {
        const { build } = await world.statusOf(namespace, name);
        return build?.phase === 'Failed' || build?.phase === 'Running' ? build : undefined;
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  }

  test.each(PRIVATE_REPOSITORIES)('is not built (%s)', async (url) => {
    const build = await buildOf('cloud', url);
    expect(build).toMatchObject({ phase: 'Failed', reason: 'GitHostRefused' });
    expect(build.message).toContain('private address');
    expect(build.job).toBeUndefined();
    expect(await buildOf('self_hosted', url)).toMatchObject({ reason: 'BuildsUnavailable' });
  });

  test('gets no Job, unlike a repository at a public address', async () => {
    const { job, phase } = await buildOf('cloud', 'https://git.example.com/a/b');
    expect(phase).toBe('Running');
    expect(await list(world.builds, 'jobs')).toEqual([`job.batch/${job}`]);
  });
});

describe("sizes above the policy, in a tenant's namespace", () => {
  const reported = {
    cpu: /must be less than or equal to cpu limit/,
    memory_mb: /must be less than or equal to memory limit/,
    cpu_limit: /exceeded quota: berth-tenant/,
    db_storage_gi: /exceeded quota: berth-tenant/,
  };

  test.each(Object.entries(reported))(
    'are accepted and reported, and the namespace gets no pod or volume (%s)',
    async (size, why) => {
      const row = sizesAboveCloud.find(({ what }) => what === `${size} above it`);
      const name = uniqueName('large');
      await world.send(tenant, resource(name, row?.spec));
      await waitFor(
        `${why} to be reported`,
        async () => {
          const status = JSON.stringify(await world.statusOf(tenant, name));
          if (why.test(status)) return status;
          throw new Error(status);
        },
        { timeoutMs: 60_000, intervalMs: 100 },
      );
      expect(await list(tenant, 'pods,persistentvolumeclaims')).toEqual([]);
    },
  );
});
