import { describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../../../src/contract/render/render-config.ts';
import { CONFIG, NAMESPACE, RESOURCE_ID, World } from '../fixtures.ts';

const INGRESS = `Ingress/${NAMESPACE}/web`;
const HTTP_ROUTE = `HTTPRoute/${NAMESPACE}/web`;
const IMAGE = 'registry.test/web:1';
const wanting = (url: string | undefined) => ({
  revision: { image: IMAGE, number: 1 },
  database: { external: true },
  cache: { external: true },
  routing: url === undefined ? {} : { url },
});
const routed = (mode: RenderConfig['routing']['mode']): RenderConfig => ({
  ...CONFIG,
  routing: { mode, className: mode === 'gateway' ? 'edge/public' : 'nginx', tlsIssuer: null },
});

function world(mode: RenderConfig['routing']['mode'], url = 'https://shop.example.com'): World {
  const made = new World(wanting(url));
  made.config = routed(mode);
  made.restart();
  return made;
}

/** As the Gateway's controller writes it. */
function say(
  on: World,
  conditions: object[],
  parentRef: object = { namespace: 'edge', name: 'public' },
): void {
  on.cluster.edit(HTTP_ROUTE, (route) => {
    const { generation } = route.metadata;
    const observed = conditions.map((condition) => ({ observedGeneration: generation, ...condition }));
    route['status'] = { parents: [{ parentRef, controllerName: 'x', conditions: observed }] };
  });
}
const ACCEPTED = { type: 'Accepted', status: 'True', reason: 'Accepted' };

describe('an Ingress', () => {
  test('is ready once it exists, and its URL is removed with it', async () => {
    const shop = world('ingress', 'https://shop.example.com/app/');
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('True RouteExists');
    expect(shop.status.url).toBe('https://shop.example.com/app/');
    shop.change(wanting(undefined));
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('absent');
    expect(shop.status.url).toBeUndefined();
    expect(shop.cluster.get(INGRESS)).toBeUndefined();
  });

  test('keeps the former URL and reports the error if the API server rejects it', async () => {
    const shop = world('ingress');
    await shop.converge();
    shop.cluster.faults.push({ when: ({ id }) => id.startsWith('Ingress/'), error: 'invalid' });
    shop.change(wanting('https://other.example.com'));
    expect(await shop.reconcileOnce()).toContain('status ManagedDeployment/web');
    expect(shop.status.url).toBe('https://shop.example.com');
    expect(shop.condition('RouteReady')).toBe('False RoutePending');
    expect(shop.condition('Ready')).toBe('False Refused');
  });
});

describe('an HTTPRoute', () => {
  test('is ready once its own Gateway has accepted its current generation', async () => {
    const shop = world('gateway');
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('False RoutePending');
    expect(shop.condition('Ready')).toBe('False RoutePending');
    expect(shop.condition('Serving')).toBe('True Available');
    expect(shop.status).toMatchObject({ deploymentStatus: 'READY', activeRevision: { number: 1 } });
    expect(shop.status.url).toBeUndefined();
    say(shop, [ACCEPTED], { namespace: 'edge', name: 'another' });
    await shop.converge();
    expect(shop.status.url).toBeUndefined();
    say(shop, [{ ...ACCEPTED, observedGeneration: 0 }]);
    await shop.converge();
    expect(shop.status.url).toBeUndefined();
    say(shop, [ACCEPTED]);
    await shop.converge();
    expect(shop.status.url).toBe('https://shop.example.com');
    expect(shop.condition('Ready')).toBe('True Converged');
  });

  test.each([
    [{ type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners', message: 'no listener' }],
    [{ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound', message: 'no Service' }, ACCEPTED],
  ])('is reported with the reason when it has the condition %j', async (...conditions) => {
    const shop = world('gateway');
    await shop.converge();
    say(shop, conditions);
    await shop.converge();
    const route = shop.status.conditions?.find(({ type }) => type === 'RouteReady');
    expect(route).toMatchObject({ status: 'False', reason: 'RouteRefused' });
    expect(route?.message).toContain(
      `edge/public: ${conditions[0]?.type} is False: ${conditions[0]?.reason}`,
    );
    expect(shop.status.url).toBeUndefined();
    expect(shop.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'RouteRefused' }));
  });

  test('is reported and delays nothing else if its kind is missing, and is created once the kind is installed', async () => {
    const shop = world('gateway');
    shop.cluster.missingKinds.add('HTTPRoute');
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('False RouteUnsupported');
    expect(shop.condition('Ready')).toBe('False RouteUnsupported');
    expect(shop.status).toMatchObject({ deploymentStatus: 'READY', activeRevision: { number: 1 } });
    expect(shop.cluster.get(HTTP_ROUTE)).toBeUndefined();
    shop.cluster.missingKinds.clear();
    await shop.converge();
    expect(shop.cluster.get(HTTP_ROUTE)).toBeDefined();
  });

  test('keeps its host reported while its kind is temporarily not found', async () => {
    const shop = world('gateway');
    await shop.converge();
    const routes = shop.status.routes;
    expect(routes?.hosts).toEqual(['shop.example.com']);
    shop.change({ ...wanting(undefined), recordGeneration: 2 });
    shop.cluster.missingKinds.add('HTTPRoute');
    await shop.reconcileOnce();
    expect(shop.status.routes).toEqual(routes);
    shop.cluster.missingKinds.clear();
    await shop.converge();
    expect(shop.cluster.get(HTTP_ROUTE)).toBeUndefined();
    expect(shop.status.routes).toEqual({ recordGeneration: 2, hosts: [] });
  });

  test('reports routes with generation 0 if its kind was never found', async () => {
    const shop = new World({ ...wanting('https://shop.example.com'), recordGeneration: 3 });
    shop.restart(routed('gateway'));
    shop.cluster.missingKinds.add('HTTPRoute');
    await shop.converge();
    expect(shop.status.routes).toEqual({ recordGeneration: 0, hosts: [] });
  });

  test('replaces an Ingress without an interruption of the URL, and the reverse', async () => {
    const shop = world('ingress');
    await shop.converge();
    shop.config = routed('gateway');
    shop.restart();
    await shop.converge();
    expect(shop.status.url).toBe('https://shop.example.com');
    expect(shop.cluster.get(INGRESS)).toBeDefined();
    say(shop, [ACCEPTED]);
    await shop.converge();
    expect(shop.cluster.get(INGRESS)).toBeUndefined();
    expect(shop.status.url).toBe('https://shop.example.com');
    shop.config = routed('ingress');
    shop.restart();
    await shop.converge();
    expect(shop.cluster.get(HTTP_ROUTE)).toBeUndefined();
    expect(shop.cluster.get(INGRESS)).toBeDefined();
    shop.config = routed('none');
    shop.restart();
    await shop.converge();
    expect(shop.cluster.get(INGRESS)).toBeUndefined();
    expect(shop.status.url).toBeUndefined();
    expect(shop.condition('Ready')).toBe('True Converged');
  });
});

describe('the hosts of all routes', () => {
  const hosts = (of: World) => of.status.routes?.hosts;
  const of = (world: World, url: string | undefined, generation: number) =>
    world.change({ ...wanting(url), recordGeneration: generation });

  test('are reported with the generation that the operator used', async () => {
    const shop = world('ingress');
    expect(shop.status.routes).toBeUndefined();
    await shop.converge();
    expect(shop.status.routes).toEqual({ recordGeneration: 0, hosts: ['shop.example.com'] });
    of(shop, 'https://next.example.com', 2);
    await shop.reconcileOnce();
    expect(shop.status.routes).toEqual({ recordGeneration: 2, hosts: ['shop.example.com'] });
    await shop.converge();
    expect(shop.status.routes).toEqual({ recordGeneration: 2, hosts: ['next.example.com'] });
    of(shop, undefined, 3);
    await shop.converge();
    expect(shop.status.routes).toEqual({ recordGeneration: 3, hosts: [] });
  });

  test('include that of an Ingress with a finalizer until it is gone', async () => {
    const shop = world('ingress');
    await shop.converge();
    shop.cluster.edit(INGRESS, ({ metadata }) => {
      metadata.finalizers = ['example.com/load-balancer'];
      metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    });
    of(shop, undefined, 2);
    await shop.converge();
    expect(shop.status.url).toBeUndefined();
    expect(shop.status.routes).toEqual({ recordGeneration: 2, hosts: ['shop.example.com'] });
    shop.cluster.remove(INGRESS);
    await shop.converge();
    expect(hosts(shop)).toEqual([]);
  });

  test('include that of an HTTPRoute that no Gateway has accepted', async () => {
    const shop = world('gateway');
    await shop.converge();
    expect(shop.status.url).toBeUndefined();
    expect(hosts(shop)).toEqual(['shop.example.com']);
  });

  test('include all hosts of an edited route, and release none if there are too many to report', async () => {
    const shop = world('ingress');
    await shop.converge();
    const before = shop.status.routes;
    const write = (count: number) =>
      shop.cluster.edit(INGRESS, (ingress) => {
        const { rules } = ingress['spec'] as { rules: object[] };
        const more = Array.from({ length: count }, (_, at) => ({ host: `H${at}.example.com` }));
        ingress['spec'] = { ...(ingress['spec'] as object), rules: [...rules, ...more] };
      });
    shop.cluster.edit(RESOURCE_ID, ({ metadata }) => {
      metadata.annotations = { 'berth.dev/paused': 'true' };
    });
    write(1);
    await shop.reconcileOnce();
    expect(hosts(shop)).toEqual(['h0.example.com', 'shop.example.com']);
    write(100);
    of(shop, undefined, 2);
    await shop.reconcileOnce();
    expect(shop.status.routes?.recordGeneration).toBe(before?.recordGeneration);
    expect(hosts(shop)).toContain('shop.example.com');
  });
});
