import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import { neededRights } from '../../../../src/cluster/operator/rights.ts';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { hostHash } from '../../../../src/contract/resource/names.ts';
import { HTTP_ROUTES, httpRoutesCrd } from '../../../cluster/gateway-crds.ts';
import { waitFor } from '../../../cluster/wait.ts';
import { runBerth } from '../../../installation/berth-process.ts';
import {
  type DeploymentAnswer,
  type KubeItem,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../../harness/berth.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { RightsInUse, watchesOf } from '../../harness/rights-in-use.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

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
  await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES, '--ignore-not-found', '--wait=false']);
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

async function installGatewayApi(): Promise<void> {
  await kubectlAsAdmin(['apply', '--server-side', '-f', await httpRoutesCrd()]);
}

/** As the controller of the Gateway does. */
async function accept(
  name: string,
  status: 'True' | 'False' = 'True',
  reason = 'Accepted',
  namespace = world.namespace,
): Promise<void> {
  const route = ['-n', namespace, 'httproute', name] as const;
  const { metadata } = JSON.parse(await kubectlAsAdmin(['get', ...route, '-o', 'json'])) as KubeItem;
  const said = {
    type: 'Accepted',
    status,
    reason,
    message: 'said so',
    observedGeneration: metadata.generation,
    lastTransitionTime: new Date().toISOString(),
  };
  const parentRef = { namespace: 'edge', name: 'public' };
  const parents = [{ parentRef, controllerName: 'test.example/gateway', conditions: [said] }];
  const patch = JSON.stringify({ status: { parents } });
  await kubectlAsAdmin(['patch', ...route, '--subresource=status', '--type=merge', '-p', patch]);
}

describe('an Ingress', () => {
  test('is created for a URL with class and certificate; the status follows changes and removal', async () => {
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
    await world.gone('ingress', 'shop');
  });

  test('is reported and not changed when it has another owner, and everything else runs', async () => {
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

describe('the Gateway API', () => {
  test('is reported when it is missing, replaces the Ingress once a route is accepted, and is replaced again', async () => {
    const moved = app('moved');
    await moved.apply(spec(url('moved')));
    await moved.ready();
    await restart(routed('gateway', 'edge/public'));
    const fresh = app('fresh');
    await fresh.apply(spec(url('fresh')));
    const lacking = await fresh.until(
      'serving without a route',
      (now) => condition(now, 'Serving') === 'True Available' && now.activeRevision !== undefined,
    );
    expect(condition(lacking, 'RouteReady')).toBe('False RouteUnsupported');
    expect(lacking).toMatchObject({ deploymentStatus: 'READY' });
    expect(lacking.url).toBeUndefined();

    await installGatewayApi();
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
    await world.gone('ingress', 'moved');
    expect((await moved.status()).url).toBe(url('moved'));

    await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES]);
    const lost = await fresh.until(
      'without the kind',
      (now) => condition(now, 'RouteReady') === 'False RouteUnsupported',
    );
    expect(lost.url).toBeUndefined();
    expect(condition(lost, 'Serving')).toBe('True Available');

    await restart(routed('ingress', 'nginx'));
    expect((await fresh.ready()).url).toBe(url('fresh'));
    await restart(routed('none', ''));
    await world.gone('ingress', 'fresh');
    // The status follows the route, not the other way round.
    await fresh.until('without URL', (now) => now.url === undefined);
    await fresh.ready();
  });

  test('routes each additional host by an HTTPRoute of its own, whose Gateway decides about this host only', async () => {
    await installGatewayApi();
    await restart(routed('gateway', 'edge/public'));
    const [one, two] = ['one', 'two'].map((name) => `${name}.${world.namespace}.example.org`);
    const both = app('both');
    const routing = { url: url('both'), domains: [one, two] };
    await both.apply(appSpec(1, IMAGE, { routing }));
    const nameOf = (host = '') => `both-host-${hostHash(host)}`;
    const stateOf = (status: ManagedDeploymentStatus, host?: string) =>
      status.domains?.hosts.find((each) => each.host === host);
    for (const name of ['both', nameOf(one), nameOf(two)])
      await waitFor(name, async () => (await world.get('httproute', name)) !== undefined, {
        timeoutMs: 60_000,
        intervalMs: 200,
      });
    await accept('both');
    await accept(nameOf(one));
    await accept(nameOf(two), 'False', 'NoMatchingListenerHostname');
    const status = await both.until('refused', (now) => stateOf(now, two)?.route === 'REFUSED');
    expect(stateOf(status, two)?.message).toContain('NoMatchingListenerHostname');
    const accepted = await both.until('accepted', (now) => stateOf(now, one)?.route === 'READY');
    expect(stateOf(accepted, one)).toMatchObject({ certificate: 'UNKNOWN', proof: 'NOT_REQUIRED' });
    expect((await both.ready()).url).toBe(url('both'));
    expect(await world.get('httproute', nameOf(one))).toMatchObject({
      spec: { hostnames: [one], rules: [{ matches: [{ path: { value: '/' } }] }] },
    });
    // The former kind of route of each host serves until the new one does.
    await restart(routed('ingress', 'nginx'));
    await world.gone('httproute', nameOf(one));
    expect(await world.get('ingress', nameOf(one))).toBeDefined();
    await both.apply(spec(undefined));
    await world.gone('ingress', nameOf(one));
    await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES]);
  });

  test('requires every right on its routes, which rights.test.ts does not cover', async () => {
    const use = new RightsInUse();
    const place = { account: 'berth-operator', namespace: world.namespace } as const;
    const rights = neededRights(['HTTPRoute']).filter(({ resource }) => resource === 'httproutes');
    await installGatewayApi();
    await waitFor('routes to be served', async () => (await world.names(HTTP_ROUTES)).length === 0, {
      timeoutMs: 60_000,
      intervalMs: 200,
    });
    await restart(routed('gateway', 'edge/public'));
    const foreign = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', spec: {} };
    const metadata = { name: 'barred', namespace: world.namespace };
    await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify({ ...foreign, metadata }));
    const barred = app('barred');
    await barred.apply(spec(url('barred')));
    await use.until(place, [`get ${HTTP_ROUTES}`]);
    await world.kubectl('delete', 'httproute', 'barred');
    const at = (name: string) =>
      waitFor(
        `the route of ${name}`,
        async () => JSON.stringify(await world.get('httproute', 'barred'))?.includes(`"${name}.`),
        { timeoutMs: 60_000, intervalMs: 200 },
      );
    await at('barred');
    await barred.apply(spec(url('elsewhere')));
    await at('elsewhere');
    await barred.apply(spec(undefined));
    await world.gone('httproute', 'barred');
    // The audit log records watches when they end.
    await restart(routed('none', ''));
    await use.until(place, watchesOf(rights));
    const { unused, beyond, refused } = use.compare({ ...place, rights });
    expect([unused, refused]).toEqual([[], []]);
    expect(beyond.filter((right) => right.endsWith(HTTP_ROUTES))).toEqual([]);
    await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES]);
  });
});

describe('the API', () => {
  type Routed = DeploymentAnswer & { url: string | null };
  const INGRESS = {
    BERTH_ROUTING: 'ingress',
    BERTH_ROUTING_CLASS: 'nginx',
    BERTH_TLS_ISSUER: 'letsencrypt',
    // The host is free long before it ends.
    BERTH_DELETION_GRACE: '600',
  };
  let berth: WholeBerth;
  /** Of another tenant. */
  let otherKey: string;
  beforeAll(async () => {
    berth = await startWholeBerth('ways', { settings: INGRESS });
    const args = ['keys', 'create', '--tenant', 'other', '--name', 'other', '-o', 'json'];
    otherKey = JSON.parse(await runBerth(berth.stateDir, args, berth.settings)).api_key;
  });
  afterAll(() => berth?.stop());

  const host = (name: string) => `${name}.${berth.namespace}.example.com`;
  const body = (name: string, custom_url: string) => smallDeployment(name, { source_config: { custom_url } });
  const patch = (id: string, custom_url: string | null) =>
    berth.call<Routed>('PATCH', `/v2/deployments/${id}`, { source_config: { custom_url } });
  const at = (id: string, wanted: string | null) =>
    berth.until(id, `to answer at ${wanted}`, (now) => (now as Routed).url === wanted) as Promise<Routed>;
  const routeOf = async (kind: string, id: string) =>
    (await berth.get(kind, '-l', `berth.dev/deployment-id=${id}`)).items[0];
  const says = ({ conditions }: DeploymentAnswer, type: string) => {
    const found = conditions.find((candidate) => candidate.type === type);
    return found === undefined ? 'absent' : `${found.status} ${found.reason}`;
  };
  const asStranger = async (method: string, path: string, sent: object) => {
    const response = await fetch(new URL(path, berth.process().url), {
      method,
      headers: { 'x-api-key': otherKey, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    });
    return { status: response.status, body: (await response.json()) as Routed & { detail: string } };
  };

  const RELEASED = /Another deployment is releasing the host /;
  /** Refused for as long as the former holder is still reached there, and for nothing else. */
  const taken = (ask: () => Promise<{ status: number; body: unknown }>, wanted: number) =>
    waitFor(
      'the host',
      async () => {
        const { status, body } = await ask();
        if (status !== wanted)
          expect([status, body]).toEqual([409, { detail: expect.stringMatching(RELEASED) }]);
        return status === wanted;
      },
      { timeoutMs: 60_000, intervalMs: 300 },
    );

  test.each(['clears its URL', 'is deleted'])(
    'reserves the host of a deployment that %s until its route is gone, also after a failed revision',
    async (how) => {
      const name = how === 'is deleted' ? 'deleted' : 'cleared';
      const wanted = `https://${host(name)}`;
      const sent = {
        ...body(name, wanted),
        source_revision_config: { image_uri: 'registry.test/app:fail-invalid-image' },
      };
      const { id } = await berth.create(sent);
      await at(id, wanted);
      await berth.until(id, 'failed', (now) => says(now, 'Progressing') === 'False RolloutFailed');
      const mdep = `mdep/${(await routeOf('ingress', id))?.metadata.name}`;
      await kubectlAsAdmin(['-n', berth.namespace, 'annotate', mdep, 'berth.dev/paused=true']);
      await berth.until(id, 'paused', (now) => says(now, 'Paused') === 'True Paused');
      const gone = name === 'deleted' ? berth.call('DELETE', `/v2/deployments/${id}`) : patch(id, null);
      expect((await gone).status).toBeLessThan(300);
      const ask = () => asStranger('POST', '/v2/deployments', body(`next-${name}`, wanted));
      expect(await ask()).toMatchObject({ status: 409, body: { detail: expect.stringMatching(RELEASED) } });
      const ingress = `ingress/${(await routeOf('ingress', id))?.metadata.name}`;
      const held = (finalizers: string[]) =>
        kubectlAsAdmin([
          ...['-n', berth.namespace, 'patch', ingress, '--type=merge'],
          ...['-p', JSON.stringify({ metadata: { finalizers } })],
        ]);
      await held(['example.com/load-balancer']);
      await kubectlAsAdmin(['-n', berth.namespace, 'annotate', mdep, 'berth.dev/paused-']);
      // Deleted, it still routes for as long as something holds it.
      await at(id, null);
      await waitFor(
        'the Ingress to be deleted',
        async () => (await routeOf('ingress', id))?.metadata.deletionTimestamp !== undefined,
        { timeoutMs: 60_000 },
      );
      expect(await ask()).toMatchObject({ status: 409, body: { detail: expect.stringMatching(RELEASED) } });
      await held([]);
      await taken(ask, 201);
      expect(await routeOf('ingress', id)).toBeUndefined();
    },
  );

  test('shows the URL of the live Ingress after each change, and gives a host to one deployment only', async () => {
    const [first, second] = [`https://${host('first')}/app`, `https://${host('second')}`];
    const created = (await berth.create(body('shop', first))) as Routed;
    const { id } = created;
    expect(created.url).toBeNull();
    await at(id, first);
    const made = await routeOf('ingress', id);
    expect(made).toMatchObject({
      metadata: { annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' } },
      spec: {
        ingressClassName: 'nginx',
        rules: [{ host: host('first'), http: { paths: [{ path: '/app' }] } }],
        tls: [{ hosts: [host('first')], secretName: `${made?.metadata.name}-tls` }],
      },
    });

    // Of another tenant, created and changed; upper case is the same host.
    const conflict = { status: 409, body: { detail: expect.stringContaining('custom_url') } };
    expect(await asStranger('POST', '/v2/deployments', body('thief', first))).toMatchObject(conflict);
    const other = await asStranger('POST', '/v2/deployments', body('other', `https://${host('other')}`));
    expect(other.status).toBe(201);
    const path = `/v2/deployments/${other.body.id}`;
    const stolen = { source_config: { custom_url: first.toUpperCase().replace('HTTPS', 'https') } };
    expect(await asStranger('PATCH', path, stolen)).toMatchObject(conflict);

    const changed = await patch(id, second);
    expect(changed).toMatchObject({ status: 200, body: { url: first } });
    await at(id, second);
    expect((await routeOf('ingress', id))?.spec).toMatchObject({ rules: [{ host: host('second') }] });
    expect((await routeOf('ingress', id))?.metadata.uid).toBe(made?.metadata.uid);
    // What was left is free as soon as it is seen to be left.
    await taken(() => asStranger('PATCH', path, { source_config: { custom_url: first } }), 200);

    // It is not created again while the operator is paused: nothing answers there.
    const [mdep, ingress] = [`mdep/${made?.metadata.name}`, `ingress/${made?.metadata.name}`];
    await kubectlAsAdmin(['-n', berth.namespace, 'annotate', mdep, 'berth.dev/paused=true']);
    await berth.until(id, 'paused', (now) => says(now, 'Paused') === 'True Paused');
    await kubectlAsAdmin(['-n', berth.namespace, 'delete', ingress]);
    expect(says(await at(id, null), 'RouteReady')).toBe('False RoutePending');
    await kubectlAsAdmin(['-n', berth.namespace, 'annotate', mdep, 'berth.dev/paused-']);
    await at(id, second);

    expect((await patch(id, null)).status).toBe(200);
    expect(says(await at(id, null), 'RouteReady')).toBe('absent');
    expect(await routeOf('ingress', id)).toBeUndefined();
    expect((await berth.ready(id)).status).toBe('READY');
  });

  test('shows no URL until a Gateway accepts the route, when it rejects it, and when the kind is gone', async () => {
    await installGatewayApi();
    await berth.process().stop();
    await berth.restart({ BERTH_ROUTING: 'gateway', BERTH_ROUTING_CLASS: 'edge/public' });
    const wanted = `https://${host('gated')}`;
    const { id } = await berth.create(body('gated', wanted));
    const pending = (await berth.until(
      id,
      'serving, with its route pending',
      (now) => says(now, 'Serving') === 'True Available' && says(now, 'RouteReady') === 'False RoutePending',
    )) as Routed;
    expect(pending.url).toBeNull();
    await waitFor('the route', async () => (await routeOf('httproute', id)) !== undefined, {
      timeoutMs: 60_000,
    });
    const name = (await routeOf('httproute', id))?.metadata.name ?? '';
    await accept(name, 'True', 'Accepted', berth.namespace);
    await at(id, wanted);
    const elsewhere = `https://${host('elsewhere')}`;
    await patch(id, elsewhere);
    // What the Gateway said was of another host.
    expect(says(await at(id, null), 'RouteReady')).toBe('False RoutePending');
    await accept(name, 'False', 'NotAllowedByListeners', berth.namespace);
    await berth.until(id, 'refused', (now) => says(now, 'RouteReady') === 'False RouteRefused');
    await accept(name, 'True', 'Accepted', berth.namespace);
    await at(id, elsewhere);
    await kubectlAsAdmin(['delete', 'crd', HTTP_ROUTES]);
    expect(says(await at(id, null), 'Serving')).toBe('True Available');
  });
});
