/** Custom resources written by hand, past the hub: a host is that of one deployment, and none of the platform's. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../src/cluster/kube/client/client.ts';
import { RESOURCES } from '../../../src/cluster/kube/client/resources.ts';
import { loadConfig } from '../../../src/config/index.ts';
import { createNamespace, deleteNamespace } from '../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../harness/operator.ts';
import { App, adminClient, appSpec } from '../harness/rollouts.ts';

const OWN_HOST = 'berth.example.com';

/** As the operator reads them from the settings of an installation. */
const { platformHosts } = loadConfig({
  BERTH_PUBLIC_URL: `https://${OWN_HOST}`,
  BERTH_HUB_URL: 'https://hub.example.com:8443',
  BERTH_REGISTRY: 'registry.example.com:5000/apps',
  BERTH_TRACING_URL: 'https://tracing.example.com/berth',
  BERTH_OTLP_ENDPOINT: 'https://otlp.example.com:4318',
  BERTH_TRACES_ENDPOINT: 'https://traces.example.com/v1/traces',
  BERTH_APP_DOMAIN: 'apps.example.com',
});

let world: OperatorWorld;
let elsewhere: string;
let operator: RunningOperator;
let client: KubeClient;

beforeAll(async () => {
  world = await operatorWorld('host-claims');
  elsewhere = await createNamespace('host-claims-elsewhere');
  client = await adminClient();
  operator = await startOperator({
    ...world.settings,
    moreNamespaces: [elsewhere],
    ownHost: OWN_HOST,
    platformHosts,
  });
});
afterAll(async () => {
  await operator.stop();
  await client.close();
  await deleteNamespace(elsewhere);
  await world.end();
});

const spec = (url: string) => appSpec(1, 'registry.test/web:1', { routing: { url } });
const refused = (app: App) =>
  app.until(
    'serving without a route',
    (status) =>
      condition(status, 'Ready') === 'False RouteRefused' &&
      condition(status, 'Serving') === 'True Available',
  );

test('gets a host of another namespace only when it is given up there, without another change', async () => {
  const url = `https://shop.${world.namespace}.example.com`;
  const first = new App(client, world.namespace, 'first');
  const second = new App(client, elsewhere, 'second');
  await first.apply(spec(url));
  await first.ready();
  await second.apply(spec(`${url}/elsewhere`));
  const status = await refused(second);
  expect(status.url).toBeUndefined();
  expect(await second.list(RESOURCES.Ingress)).toEqual([]);
  expect(JSON.stringify(status)).not.toContain(world.namespace.concat('/'));
  await first.apply(spec(`https://former.${world.namespace}.example.com`));
  expect((await second.ready()).url).toBe(`${url}/elsewhere`);
  // Now it is the first one that comes too late, until the other is gone.
  await first.apply(spec(url));
  await refused(first);
  expect(await first.list(RESOURCES.Ingress)).toEqual([]);
  await client.delete(RESOURCES.ManagedDeployment, second, {});
  expect((await first.ready()).url).toBe(url);
});

test('routes the host of the hub to no deployment', async () => {
  const app = new App(client, world.namespace, 'greedy');
  await app.apply(spec(`https://${OWN_HOST.toUpperCase()}/v2`));
  const status = await refused(app);
  expect(status.conditions?.find(({ type }) => type === 'RouteReady')?.message).toBe(
    `${OWN_HOST} is the platform's own host`,
  );
  expect(await app.list(RESOURCES.Ingress)).toEqual([]);
});

describe.concurrent('a host of the platform', () => {
  test.each([
    ['hub', 'hub.example.com'],
    ['registry', 'Registry.example.com'],
    ['tracing', 'tracing.example.com'],
    ['otlp', 'OTLP.EXAMPLE.COM'],
    ['traces', 'traces.example.com'],
    ['apps', 'apps.example.com'],
  ])('is not routed to a deployment (%s: %s)', async (name, host) => {
    const app = new App(client, world.namespace, `takes-${name}`);
    await app.apply(spec(`https://${host}/v2`));
    const status = await refused(app);
    expect(status.conditions?.find(({ type }) => type === 'RouteReady')?.message).toBe(
      `${host.toLowerCase()} is the platform's own host`,
    );
    expect(await app.list(RESOURCES.Ingress)).toEqual([]);
    await app.apply(spec(`https://${name}.${world.namespace}.example.com`));
    await app.ready();
  });
});
