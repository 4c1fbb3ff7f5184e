import { describe, expect, test } from 'vitest';
import type { KubeObject, UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { hostRefusal } from '../../../../../src/cluster/operator/access/host-claims.ts';
import type { Observed } from '../../../../../src/cluster/operator/observed.ts';
import { CONFIG, message, NAMESPACE, RESOURCE_ID, resource, World } from '../fixtures.ts';

const INGRESS = `Ingress/${NAMESPACE}/web`;
const HOST = 'shop.example.com';
const wanting = (url: string) => ({
  revision: { image: 'registry.test/web:1', number: 1 },
  database: { external: true },
  cache: { external: true },
  routing: { url },
});

/** One that wants to be reached under a URL, and when it was made; the neighbour was made before or after. */
function world(url = `https://${HOST}`): World {
  const made = new World(wanting(url));
  const { metadata, ...object } = resource(wanting(url));
  made.cluster.remove(RESOURCE_ID);
  made.cluster.put({ ...object, metadata: { ...metadata, creationTimestamp: '2026-01-02T00:00:00Z' } });
  return made;
}

const NEIGHBOUR = 'ManagedDeployment/other/neighbour';
const NEIGHBOUR_UID = 'b1f0c7de-0000-4000-8000-000000000009';

/** Somebody else's custom resource, in another namespace. */
function neighbour(on: World, url: string, creationTimestamp: string, more: object = {}): void {
  const made = resource({ ...wanting(url), ...more });
  const metadata = { name: 'neighbour', namespace: 'other', uid: NEIGHBOUR_UID, creationTimestamp };
  on.cluster.put({ ...made, metadata } as KubeObject);
}

const EARLIER = '2026-01-01T00:00:00Z';
const LATER = '2026-01-03T00:00:00Z';

function routeOfNeighbour(host: string, uid = NEIGHBOUR_UID): UntypedObject {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name: 'neighbour',
      namespace: 'other',
      labels: { 'app.kubernetes.io/instance': 'neighbour' },
      ownerReferences: [
        {
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'ManagedDeployment',
          name: 'neighbour',
          uid,
          controller: true,
        },
      ],
    },
    spec: { rules: [{ host }] },
  };
}

async function expectRefused(shop: World): Promise<void> {
  await shop.converge();
  expect(shop.cluster.get(INGRESS)).toBeUndefined();
  expect(shop.condition('RouteReady')).toBe('False RouteRefused');
  expect(shop.condition('Ready')).toBe('False RouteRefused');
  expect(shop.condition('Serving')).toBe('True Available');
  expect(shop.status.url).toBeUndefined();
}

async function expectRouted(shop: World): Promise<void> {
  await shop.converge();
  expect(shop.condition('RouteReady')).toBe('True RouteExists');
  expect(shop.cluster.get(INGRESS)).toBeDefined();
}

describe('a host that two custom resources request', () => {
  test('belongs to the older one, while the other one runs without a route and without the name of the owner', async () => {
    const shop = world();
    neighbour(shop, `https://${HOST}/elsewhere`, EARLIER);
    await expectRefused(shop);
    expect(message(shop, 'RouteReady')).toBe(`the host ${HOST} belongs to another deployment`);
    expect(shop.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'RouteRefused' }));
    expect(JSON.stringify([shop.status, shop.events])).not.toMatch(/neighbour|other\//);
  });

  test('does not belong to the newer one, nor to one that is being deleted', async () => {
    const shop = world();
    neighbour(shop, `https://${HOST}`, LATER);
    await expectRouted(shop);
    const next = world();
    neighbour(next, `https://${HOST}`, EARLIER);
    next.cluster.edit(NEIGHBOUR, ({ metadata }) => {
      metadata.deletionTimestamp = LATER;
    });
    await expectRouted(next);
  });

  test('belongs to the one that owns a route with it, even if that one is newer', async () => {
    const shop = world();
    neighbour(shop, `https://${HOST}`, LATER);
    shop.cluster.put(routeOfNeighbour(HOST, 'b1f0c7de-0000-4000-8000-000000000008'));
    await expectRouted(shop);
    const next = world();
    neighbour(next, `https://${HOST}`, LATER);
    next.cluster.put(routeOfNeighbour(HOST));
    await expectRefused(next);
  });

  test('stays with its holder when an older resource requests it later', async () => {
    const shop = world();
    await expectRouted(shop);
    neighbour(shop, `https://${HOST}`, EARLIER);
    expect(await shop.reconcileOnce()).toEqual([]);
    await expectRouted(shop);
  });

  test('is taken from the newer one if both have a route from an earlier version', async () => {
    const shop = world();
    await expectRouted(shop);
    neighbour(shop, `https://${HOST}`, EARLIER);
    shop.cluster.put(routeOfNeighbour(HOST));
    await expectRefused(shop);
  });

  test('is free once the other one no longer requests it, and upper case does not make it another host', async () => {
    const shop = world(`https://${HOST.toUpperCase()}`);
    neighbour(shop, `https://${HOST}`, EARLIER);
    await expectRefused(shop);
    neighbour(shop, 'https://another.example.com', EARLIER);
    await expectRouted(shop);
  });

  test('is not taken by a copy of the same deployment, which is not reconciled', async () => {
    const shop = world();
    const deploymentId = '0197a000-0000-7000-8000-00000000abcd';
    shop.cluster.edit(RESOURCE_ID, (object) => {
      object.metadata.name = 'web';
      object['spec'] = { ...(object['spec'] as object), deploymentId };
    });
    const copy = resource({ ...wanting(`https://${HOST}`), deploymentId });
    const metadata = { name: 'web-copy', namespace: NAMESPACE, uid: NEIGHBOUR_UID, creationTimestamp: LATER };
    shop.cluster.put({ ...copy, metadata } as KubeObject);
    await expectRouted(shop);
  });

  test('causes no route for a resource that changes to it while it is taken', async () => {
    const shop = world('https://former.example.com');
    await expectRouted(shop);
    neighbour(shop, `https://${HOST}`, LATER);
    shop.cluster.put(routeOfNeighbour(HOST));
    shop.change(wanting(`https://${HOST}`));
    await expectRefused(shop);
  });
});

test('no deployment gets the host of the hub', async () => {
  const shop = world('https://berth.example.com/app');
  shop.ownHost = 'berth.example.com';
  shop.restart(CONFIG);
  await expectRefused(shop);
  expect(message(shop, 'RouteReady')).toBe("berth.example.com is the platform's own host");
  shop.change(wanting(`https://${HOST}`));
  await expectRouted(shop);
});

describe('the hosts of the other parts of the platform', () => {
  test.each([`https://${HOST}/v2`, 'https://SHOP.example.com', 'https://sh%6fp.example.com'])(
    'do not allow a route for %s',
    async (url) => {
      const shop = world(url);
      shop.platformHosts = [HOST];
      shop.restart();
      await expectRefused(shop);
    },
  );

  test('keep a route that an earlier version created, until it changes', async () => {
    const shop = world();
    await shop.converge();
    shop.platformHosts = [HOST];
    shop.restart();
    await shop.converge();
    expect(shop.cluster.get(INGRESS)).toBeDefined();
    shop.change(wanting('https://other.example.com'));
    await shop.converge();
    shop.change(wanting(`https://${HOST}`));
    await expectRefused(shop);
  });
});

describe('the hosts that the policy rejects', () => {
  const refusing = (shop: World, refused_hosts: string[], platformHosts: string[] = []) => {
    shop.policy = { ...shop.policy, custom_url: { ...shop.policy.custom_url, refused_hosts } };
    shop.platformHosts = platformHosts;
    shop.restart();
    return shop;
  };

  test.each([
    [`https://${HOST}`, HOST],
    ['https://SHOP.example.com/app', HOST],
    ['https://sh%6fp.example.com', HOST],
    [`https://${HOST}`, 'Shop.*'],
    [`https://${HOST}`, '*.example.com'],
  ])('do not allow a route for %s when the policy rejects %s', async (url, pattern) => {
    const shop = refusing(world(url), [pattern]);
    await expectRefused(shop);
    expect(message(shop, 'RouteReady')).toBe(
      `the policy (custom_url.refused_hosts) does not allow the host ${HOST}`,
    );
  });

  test('keep a route that exists, until it changes', async () => {
    const shop = world();
    await expectRouted(shop);
    await expectRouted(refusing(shop, [HOST]));
    shop.change(wanting('https://other.example.com'));
    await expectRouted(shop);
    shop.change(wanting(`https://${HOST}`));
    await expectRefused(shop);
  });

  test('exclude generated hosts, which are only names that end in digits of the id', async () => {
    const deploymentId = '0197a000-0000-7000-8000-00000000abcd';
    const name = 'shop-0000abcd';
    const named = (url: string) => {
      const shop = new World({ ...wanting(url), deploymentId });
      const { metadata, ...object } = shop.cluster.get(RESOURCE_ID) as KubeObject;
      shop.cluster.remove(RESOURCE_ID);
      shop.cluster.put({ ...object, metadata: { ...metadata, name } });
      return refusing(shop, ['*.apps.example.com'], ['apps.example.com']);
    };
    const refusalOf = ({ cluster, policy, platformHosts }: World) => {
      const observed = { resource: cluster.get(`ManagedDeployment/${NAMESPACE}/${name}`) };
      const { refused_hosts: refused } = policy.custom_url;
      const platform = { own: null, others: platformHosts, refused };
      const rules = { platform, appDomain: null, domains: policy.domains };
      return hostRefusal(observed as unknown as Observed, cluster.view, rules);
    };
    expect(refusalOf(named(`https://${name}.apps.example.com`))).toBeNull();
    expect(refusalOf(named('https://console.apps.example.com'))).toMatch(/does not allow the host/);
  });
});
