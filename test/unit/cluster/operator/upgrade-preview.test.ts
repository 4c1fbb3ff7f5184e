import { describe, expect, it } from 'vitest';
import { templateDifference } from '../../../../src/cluster/operator/decide/template-difference.ts';
import { previewOf, previewUpgrade } from '../../../../src/cluster/operator/upgrade-preview.ts';
import { ANNOTATIONS } from '../../../../src/contract/resource/names.ts';
import { canonicalJson, contentHash } from '../../../../src/domain/core/hash.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { CONFIG, KEY, RESOURCE_ID, revised, settled, type World } from './fixtures.ts';

const RULES = {
  policy: resolvePolicy('self_hosted'),
  platform: { own: 'berth.example.com', others: ['registry.example.com'] },
  allowsPrivateHosts: false,
};
const preview = (world: World, more: object = {}) =>
  previewOf(world.cluster.view, KEY, { ...CONFIG, ...more }, RULES);

describe('the preview of an upgrade', () => {
  it('names each field that would be rejected, and until when running workloads keep it', async () => {
    const zero = { resources: { limits: { memory: '0' } } };
    const world = await settled(revised('web:1', 1));
    world.change({
      ...revised('web:1', 1),
      components: { api: { scale: { min: 1, max: 1 }, ...zero } },
      database: { image: 'sha256:3f', ...zero },
      podTemplate: { sidecars: [{ name: 'helper', image: 'helper:1', ...zero }] },
      routing: { url: 'https://Registry.example.com/v2' },
    });
    const { refused } = preview(world);
    expect(refused.map(({ field, until }) => `${field} ${until}`)).toEqual([
      'spec.database.image field changes',
      'spec.components.api.resources.limits.memory next revision',
      'spec.database.resources.limits.memory field changes',
      'spec.podTemplate.sidecars[0].resources.limits.memory next revision',
      'spec.routing.url field changes',
    ]);
    expect(refused[0]?.why).toContain('must be an image reference');
  });

  it('names a host that the policy rejects or that belongs to the platform', async () => {
    const refused_hosts = ['*.apps.example.com', 'console.*'];
    const policy = { ...RULES.policy, custom_url: { ...RULES.policy.custom_url, refused_hosts } };
    const platform = { ...RULES.platform, others: ['apps.example.com'] };
    const world = await settled(revised('web:1', 1));
    const refused = (host: string) => {
      world.change({ ...revised('web:1', 1), routing: { url: `https://${host}` } });
      return previewOf(world.cluster.view, KEY, CONFIG, { ...RULES, policy, platform }).refused;
    };
    expect(refused('Console.example.com')).toEqual([
      {
        field: 'spec.routing.url',
        why: 'the policy (custom_url.refused_hosts) does not allow the host console.example.com',
        until: 'field changes',
      },
    ]);
    expect(refused('other.apps.example.com')).toHaveLength(1);
    expect(refused('apps.example.com')).toEqual([
      expect.objectContaining({ why: "apps.example.com is the platform's own host" }),
    ]);
    expect(refused('shop.example.com')).toEqual([]);
  });

  it('names a namespace outside those of tenants in cloud, unless the listener may write to it', async () => {
    const world = await settled({ ...revised('web:1', 1), deploymentId: 'x', tenantId: 't' });
    const listAll = async ({ kind }: { kind: string }) => ({
      items: world.cluster.list(kind),
      resourceVersion: '1',
    });
    const identity = async (listenerNamespaces?: string[] | null, hosting = 'cloud') => {
      const rules = { ...RULES, ...(listenerNamespaces === undefined ? {} : { listenerNamespaces }) };
      const config = { ...CONFIG, hosting } as typeof CONFIG;
      const [found] = await previewUpgrade({ listAll } as never, [], config, rules);
      return found?.identity;
    };
    const named = [expect.stringContaining('rbac.listenerNamespaces names shop')];
    expect(await identity()).toEqual(named);
    expect(await identity(['other'])).toEqual(named);
    expect(await identity(['other', 'shop'])).toBeUndefined();
    expect(await identity(null)).toBeUndefined();
    expect(await identity([], 'self_hosted')).toBeUndefined();
  });

  it('finds nothing when this version renders the same as the former one', async () => {
    const world = await settled(revised('web:1', 1));
    expect(preview(world)).toEqual({ namespace: 'shop', name: 'web', revision: 1, changes: [], refused: [] });
  });

  it('names each field that the next revision would change, only for the workloads that have it', async () => {
    const world = await settled(revised('web:1', 1));
    const { changes } = preview(world, { healthPath: '/alive' });
    expect(changes.map(({ workload }) => workload)).toEqual(['api']);
    expect(changes[0]?.fields).toContainEqual({
      path: 'spec.containers[app].readinessProbe.httpGet',
      to: expect.objectContaining({ path: '/alive' }),
    });
  });

  it('ignores new default images of database and cache, which keep their images', async () => {
    const world = await settled(revised('web:1', 1));
    expect(preview(world, { databaseImage: 'postgres:99', cacheImage: 'valkey:99' }).changes).toEqual([]);
  });

  it('reports database and cache when they were rendered differently', async () => {
    const world = await settled(revised('web:1', 1));
    const { annotations = {} } = world.cluster.get('StatefulSet/shop/web-db')?.metadata ?? {};
    const kept = JSON.parse(annotations[ANNOTATIONS.podTemplate] ?? '{}');
    kept.template.spec.terminationGracePeriodSeconds = 7;
    kept.hash = contentHash(kept.template);
    world.cluster.edit('StatefulSet/shop/web-db', ({ metadata }) => {
      metadata.annotations = { ...annotations, [ANNOTATIONS.podTemplate]: canonicalJson(kept) };
    });
    const { changes } = preview(world);
    expect(changes.map(({ workload }) => workload)).toEqual(['database']);
    expect(changes[0]?.fields.map(({ path, from }) => [path, from])).toEqual([
      ['spec.terminationGracePeriodSeconds', 7],
    ]);
  });

  it('compares with the running revision even if another one is desired', async () => {
    const world = await settled(revised('web:1', 1));
    world.change(revised('web:2', 2));
    expect(preview(world)).toMatchObject({ revision: 1, changes: [], refused: [] });
  });

  it('reports a resource that is gone and a spec that cannot be parsed', async () => {
    const world = await settled(revised('web:1', 1));
    expect(previewOf(world.cluster.view, 'shop/none', CONFIG, RULES).problem).toBe('it is gone');
    world.cluster.edit(RESOURCE_ID, (object) => {
      object['spec'] = { revision: { image: 'web:1' }, components: { api: { scale: { min: 'many' } } } };
    });
    expect(preview(world).problem).toContain('spec.components.api');
  });
});

describe('the difference of templates', () => {
  const pod = (spec: object) => ({ spec: { containers: [], ...spec } });

  it('identifies members of lists by name, others by index', () => {
    const from = pod({ containers: [{ name: 'app', image: 'a', args: ['x'] }, { name: 'old' }] });
    const to = pod({ containers: [{ name: 'new' }, { name: 'app', image: 'b', args: ['x', 'y'] }] });
    expect(templateDifference(from, to)).toEqual([
      { path: 'spec.containers[app].args[1]', to: 'y' },
      { path: 'spec.containers[app].image', from: 'a', to: 'b' },
      { path: 'spec.containers[new]', to: { name: 'new' } },
      { path: 'spec.containers[old]', from: { name: 'old' } },
    ]);
  });

  it('ignores labels that are derived from the rest', () => {
    const marked = (hash: string) => ({
      metadata: { labels: { 'berth.dev/template-hash': hash, team: 'a' } },
      ...pod({}),
    });
    expect(templateDifference(marked('1'), marked('2'))).toEqual([]);
  });
});
