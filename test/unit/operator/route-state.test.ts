import { describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../src/contract/render-config.ts';
import { CONFIG, NAMESPACE, World } from './fixtures.ts';

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
  test('is the way in once it is there; the URL goes with it', async () => {
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

  test('that is refused leaves the former URL, and says so', async () => {
    const shop = world('ingress');
    await shop.converge();
    shop.cluster.faults.push({ when: ({ id }) => id.startsWith('Ingress/'), error: 'invalid' });
    shop.change(wanting('https://other.example.com'));
    expect(await shop.look()).toContain('status ManagedDeployment/web');
    expect(shop.status.url).toBe('https://shop.example.com');
    expect(shop.condition('RouteReady')).toBe('False RoutePending');
    expect(shop.condition('Ready')).toBe('False Refused');
  });
});

describe('an HTTPRoute', () => {
  test('is the way in once its own Gateway has accepted its present spec', async () => {
    const shop = world('gateway');
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('False RoutePending');
    expect(shop.condition('Ready')).toBe('False RoutePending');
    expect(shop.condition('Serving')).toBe('True Available');
    expect(shop.status).toMatchObject({ status: 'READY', activeRevision: { number: 1 } });
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
  ])('that is refused says why: %j', async (...conditions) => {
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

  test('that the cluster has no kind for: said, and nothing else is held up; installed later, it is made', async () => {
    const shop = world('gateway');
    shop.cluster.missingKinds.add('HTTPRoute');
    await shop.converge();
    expect(shop.condition('RouteReady')).toBe('False RouteUnsupported');
    expect(shop.condition('Ready')).toBe('False RouteUnsupported');
    expect(shop.status).toMatchObject({ status: 'READY', activeRevision: { number: 1 } });
    expect(shop.cluster.get(HTTP_ROUTE)).toBeUndefined();
    shop.cluster.missingKinds.clear();
    await shop.converge();
    expect(shop.cluster.get(HTTP_ROUTE)).toBeDefined();
  });

  test('that takes the place of an Ingress: the URL is served all the while, then the Ingress goes; and back', async () => {
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
