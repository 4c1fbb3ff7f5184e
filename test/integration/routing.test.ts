import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../src/contract/render-config.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitFor } from '../cluster/wait.ts';
import { kubectlAsAdmin } from './harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from './harness/operator.ts';
import { App, adminClient, appSpec } from './harness/rollouts.ts';

/** The one kind of the Gateway API that Berth writes, as far as it reads and writes it. */
const HTTP_ROUTES = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'httproutes.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/2466' },
  },
  spec: {
    group: 'gateway.networking.k8s.io',
    scope: 'Namespaced',
    names: { kind: 'HTTPRoute', listKind: 'HTTPRouteList', plural: 'httproutes', singular: 'httproute' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};
const IMAGE = 'registry.test/web:1';
const routed = (
  mode: RenderConfig['routing']['mode'],
  className: string,
  tlsIssuer: string | null = null,
) => ({ routing: { mode, className, tlsIssuer } });

let world: OperatorWorld;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('routing');
  client = await adminClient();
  operator = await startOperator(world.another('ingress', routed('ingress', 'nginx', 'letsencrypt')));
});
afterAll(async () => {
  await operator.stop();
  await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES.metadata.name, '--ignore-not-found', '--wait=false']);
  await client.close();
  await world.end();
});

const app = (name: string) => new App(client, world.namespace, name);
const spec = (url: string | undefined, more: object = {}) =>
  appSpec(1, IMAGE, { routing: url === undefined ? {} : { url }, ...more });
const url = (name: string) => `https://${name}.${world.namespace}.example.com`;

async function restart(config: Partial<RenderConfig>): Promise<void> {
  await operator.stop();
  operator = await startOperator({ ...world.another('next', config), discoveryMs: 500 });
}

/** As the controller of the Gateway does. */
async function accept(name: string, status: 'True' | 'False' = 'True', reason = 'Accepted'): Promise<void> {
  const { metadata } = (await world.get('httproute', name)) ?? { metadata: { generation: 0 } };
  const said = {
    type: 'Accepted',
    status,
    reason,
    message: 'said so',
    observedGeneration: metadata.generation,
  };
  const parentRef = { namespace: 'edge', name: 'public' };
  const parents = [{ parentRef, controllerName: 'test/gateway', conditions: [said] }];
  const patch = JSON.stringify({ status: { parents } });
  await world.kubectl('patch', 'httproute', name, '--subresource=status', '--type=merge', '-p', patch);
}

const gone = (kind: string, name: string) =>
  waitFor(`${kind} ${name} to be gone`, async () => (await world.get(kind, name)) === undefined, {
    timeoutMs: 60_000,
    intervalMs: 200,
  });

describe('Ingress', () => {
  test('a URL becomes an Ingress of the class, with its certificate; changed and taken away, the status follows', async () => {
    const shop = app('shop');
    await shop.apply(spec(url('shop')));
    expect((await shop.ready()).url).toBe(url('shop'));
    expect(await world.get('ingress', 'shop')).toMatchObject({
      metadata: { annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' } },
      spec: {
        ingressClassName: 'nginx',
        rules: [{ host: url('shop').slice('https://'.length) }],
        tls: [{ secretName: 'shop-tls' }],
      },
    });
    await shop.apply(spec(url('other')));
    await shop.until('at its other URL', (status) => status.url === url('other'));
    await shop.apply(spec(undefined));
    const status = await shop.until('without URL', (now) => now.url === undefined);
    expect(condition(status, 'RouteReady')).toBe('absent');
    await gone('ingress', 'shop');
  });

  test('a foreign Ingress of the same name is left alone, and said; everything else runs', async () => {
    const foreign = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'taken', namespace: world.namespace },
      spec: { defaultBackend: { service: { name: 'somebody', port: { number: 1 } } } },
    };
    await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify(foreign));
    const taken = app('taken');
    await taken.apply(spec(url('taken')));
    const status = await taken.until('in conflict', (now) => condition(now, 'Ready') === 'False Conflict');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toMatch(/^Ingress taken exists/);
    const serving = await taken.until('serving', (now) => condition(now, 'Serving') === 'True Available');
    expect(serving.url).toBeUndefined();
    expect((await world.get('ingress', 'taken'))?.['spec']).toMatchObject(foreign.spec);
    await world.kubectl('delete', 'ingress', 'taken');
    expect((await taken.ready()).url).toBe(url('taken'));
  });
});

describe('Gateway API', () => {
  test('missing: told, nothing else waits; installed later, noticed; served once accepted; the Ingress goes last; and back', async () => {
    const moved = app('moved');
    await moved.apply(spec(url('moved')));
    await moved.ready();
    await restart(routed('gateway', 'edge/public'));
    const fresh = app('fresh');
    await fresh.apply(spec(url('fresh')));
    const lacking = await fresh.until(
      'serving without a way in',
      (now) => condition(now, 'Serving') === 'True Available' && now.activeRevision !== undefined,
    );
    expect(condition(lacking, 'RouteReady')).toBe('False RouteUnsupported');
    expect(lacking).toMatchObject({ status: 'READY' });
    expect(lacking.url).toBeUndefined();

    await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify(HTTP_ROUTES));
    await fresh.until('pending', (now) => condition(now, 'RouteReady') === 'False RoutePending');
    await waitFor('the route', async () => (await world.get('httproute', 'fresh')) !== undefined, {
      timeoutMs: 60_000,
      intervalMs: 200,
    });
    await accept('fresh', 'False', 'NotAllowedByListeners');
    const refused = await fresh.until(
      'refused',
      (now) => condition(now, 'RouteReady') === 'False RouteRefused',
    );
    expect(refused.url).toBeUndefined();
    await accept('fresh');
    expect((await fresh.ready()).url).toBe(url('fresh'));

    // The former kind of route serves until the new one does.
    const between = await moved.until(
      'pending',
      (now) => condition(now, 'RouteReady') === 'False RoutePending',
    );
    expect(between.url).toBe(url('moved'));
    expect(await world.get('ingress', 'moved')).toBeDefined();
    await accept('moved');
    await moved.ready();
    await gone('ingress', 'moved');
    expect((await moved.status()).url).toBe(url('moved'));

    await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES.metadata.name]);
    const lost = await fresh.until(
      'without the kind',
      (now) => condition(now, 'RouteReady') === 'False RouteUnsupported',
    );
    expect(lost.url).toBeUndefined();
    expect(condition(lost, 'Serving')).toBe('True Available');

    await restart(routed('ingress', 'nginx'));
    expect((await fresh.ready()).url).toBe(url('fresh'));
    await restart(routed('none', ''));
    await gone('ingress', 'fresh');
    expect((await fresh.ready()).url).toBeUndefined();
  });
});
