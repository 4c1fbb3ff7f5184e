import { beforeEach, describe, expect, test } from 'vitest';
import { KubeError } from '../../../../../src/cluster/kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../../../../src/cluster/kube/client/object.ts';
import { DomainLookups } from '../../../../../src/cluster/operator/domains/domain-lookups.ts';
import { hostHash } from '../../../../../src/contract/resource/names.ts';
import { challengeName, challengeValue } from '../../../../../src/domain/app-hosts/challenge.ts';
import { resolvePolicy } from '../../../../../src/domain/policy/policy.ts';
import { hostRouteName, hostTlsSecretName } from '../../../../../src/workloads/names.ts';
import { CONFIG, KEY, message, NAMESPACE, RESOURCE_ID, resource, World } from '../fixtures.ts';

const HOST = 'shop.example.org';
const OTHER = 'www.example.org';

const wanting = (domains: string[], more: object = {}) => ({
  revision: { image: 'registry.test/web:1', number: 1 },
  database: { external: true },
  cache: { external: true },
  routing: { url: 'https://web.example.com', domains, domainToken: 'token', ...more },
});

const routeId = (host: string) =>
  `Ingress/${NAMESPACE}/${hostRouteName(resource(wanting([])) as never, host)}`;

/** Records of the DNS. null: no answer. */
let addresses: Record<string, readonly string[] | null>;
let texts: Record<string, readonly string[] | null>;
let certificates: Record<string, UntypedObject | KubeError>;
let asked: string[];

beforeEach(() => {
  addresses = {};
  texts = {};
  certificates = {};
  asked = [];
});

/** A world whose lookups read the tables above. */
function world(domains: string[], { proof = false, issuer = null as string | null, more = {} } = {}): World {
  const made = new World(wanting(domains, more));
  const { metadata, ...object } = resource(wanting(domains, more));
  made.cluster.remove(RESOURCE_ID);
  made.cluster.put({ ...object, metadata: { ...metadata, creationTimestamp: '2026-01-02T00:00:00Z' } });
  made.policy = resolvePolicy('self_hosted', { domains: { require_proof: proof } });
  made.lookups = lookupsOf(made);
  made.restart({ ...CONFIG, routing: { mode: 'ingress', className: 'nginx', tlsIssuer: issuer } });
  return made;
}

function lookupsOf(made: World): DomainLookups {
  const answer = <T>(table: Record<string, T>, name: string, none: T): Promise<T> => {
    asked.push(name);
    return Promise.resolve(table[name] === undefined ? none : table[name]);
  };
  return new DomainLookups({
    dns: {
      addresses: (name) => answer(addresses, name, []),
      texts: (name) => answer(texts, name, []),
    },
    client: {
      find: async (_resource, { name }) => {
        asked.push(name);
        const found = certificates[name];
        if (found instanceof KubeError) throw found;
        return found;
      },
    },
    clock: { now: () => made.now },
    answered: () => undefined,
    signal: new AbortController().signal,
  });
}

/** Reconciles until the lookups have ended and nothing is written any more. */
async function settle(made: World): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await made.converge();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await made.converge();
}

const stateOf = (made: World, host = HOST) => made.status.domains?.hosts.find((each) => each.host === host);
const record = () => ({ [challengeName(HOST)]: [challengeValue(NAMESPACE, 'token')] });

/** Advances the time so that the next lookup is due. */
const later = (made: World) => {
  made.now += 600_000;
};

describe('an additional host without proof', () => {
  test('has a route of its own beside that of custom_url, and is ready once it has an address', async () => {
    const shop = world([HOST, OTHER]);
    addresses = { [HOST]: ['203.0.113.7'] };
    await settle(shop);
    const route = shop.cluster.get(routeId(HOST));
    expect(route?.['spec']).toMatchObject({ rules: [{ host: HOST, http: { paths: [{ path: '/' }] } }] });
    expect(shop.cluster.get(`Ingress/${NAMESPACE}/web`)).toBeDefined();
    expect(stateOf(shop)).toEqual({
      host: HOST,
      dns: 'READY',
      proof: 'NOT_REQUIRED',
      certificate: 'UNKNOWN',
      route: 'READY',
    });
    expect(stateOf(shop, OTHER)).toMatchObject({ dns: 'PENDING', route: 'READY' });
    expect(shop.condition('DomainsReady')).toBe('False DomainWithoutDns');
    expect(message(shop, 'DomainsReady')).toContain(OTHER);
    expect(shop.condition('Ready')).toBe('True Converged');
    expect(shop.status.routes?.hosts).toEqual([HOST, 'web.example.com', OTHER].sort());
    addresses = { ...addresses, [OTHER]: ['203.0.113.7'] };
    later(shop);
    await settle(shop);
    expect(shop.condition('DomainsReady')).toBe('True DomainsRouted');
    expect(shop.status.url).toBe('https://web.example.com');
  });

  test('loses its route at once when it is removed, and the status and the condition go with it', async () => {
    const shop = world([HOST]);
    await settle(shop);
    shop.change(wanting([]));
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(shop.status.domains).toBeUndefined();
    expect(shop.condition('DomainsReady')).toBe('absent');
    expect(shop.status.routes?.hosts).toEqual(['web.example.com']);
  });

  test('becomes UNKNOWN when the DNS server does not answer twice, and stays as it was for one failure', async () => {
    const shop = world([HOST]);
    addresses = { [HOST]: ['203.0.113.7'] };
    await settle(shop);
    addresses = { [HOST]: null };
    shop.now += 300_000;
    await shop.reconcile();
    await new Promise((resolve) => setImmediate(resolve));
    await shop.reconcile();
    expect(stateOf(shop)?.dns).toBe('READY');
    later(shop);
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ dns: 'UNKNOWN', route: 'READY' });
    expect(shop.condition('DomainsReady')).toBe('Unknown DomainUnknown');
  });

  test('is looked up less often while nothing changes, and never in a busy loop', async () => {
    const shop = world([HOST]);
    await settle(shop);
    const before = asked.length;
    for (let second = 0; second < 60; second += 1) {
      await shop.reconcile();
      await new Promise((resolve) => setImmediate(resolve));
      shop.now += 1_000;
    }
    expect(asked.length - before).toBeLessThanOrEqual(6);
    const outcome = await shop.reconcile();
    expect(outcome).toMatchObject({ kind: 'requeue' });
  });

  test('keeps its state after a restart of the operator until the first lookup has ended', async () => {
    const shop = world([HOST]);
    addresses = { [HOST]: ['203.0.113.7'] };
    await settle(shop);
    shop.lookups = lookupsOf(shop);
    shop.restart();
    expect(await shop.reconcileOnce()).toEqual([]);
    expect(stateOf(shop)?.dns).toBe('READY');
  });

  test('is not known without routes and without lookups', async () => {
    const shop = world([HOST]);
    shop.lookups = undefined;
    shop.restart();
    await shop.converge();
    expect(stateOf(shop)).toMatchObject({ dns: 'UNKNOWN', route: 'READY' });
    shop.restart({ ...CONFIG, routing: { mode: 'none', className: null, tlsIssuer: null } });
    await shop.converge();
    expect(stateOf(shop)).toMatchObject({ dns: 'UNKNOWN', proof: 'UNKNOWN', route: 'UNKNOWN' });
    expect(shop.condition('DomainsReady')).toBe('Unknown DomainUnknown');
    expect(shop.condition('Ready')).toBe('True Converged');
  });
});

describe('an additional host that needs proof', () => {
  test('is not routed before its TXT record has the value, and the message names the record', async () => {
    const shop = world([HOST], { proof: true });
    addresses = { [HOST]: ['203.0.113.7'] };
    texts = { [challengeName(HOST)]: ['berth-of-another-tenant'] };
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(stateOf(shop)).toMatchObject({ proof: 'PENDING', route: 'PENDING', certificate: 'UNKNOWN' });
    expect(shop.condition('DomainsReady')).toBe('False DomainUnproven');
    expect(message(shop, 'DomainsReady')).toContain(challengeName(HOST));
    expect(message(shop, 'DomainsReady')).toContain(challengeValue(NAMESPACE, 'token'));
    expect(shop.condition('Ready')).toBe('True Converged');
    texts = record();
    later(shop);
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeDefined();
    expect(stateOf(shop)).toMatchObject({ proof: 'READY', route: 'READY' });
    expect(shop.condition('DomainsReady')).toBe('True DomainsRouted');
  });

  test('is not routed without an answer of the DNS server', async () => {
    const shop = world([HOST], { proof: true });
    texts = { [challengeName(HOST)]: null };
    await settle(shop);
    later(shop);
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(stateOf(shop)).toMatchObject({ proof: 'UNKNOWN', route: 'PENDING' });
    expect(shop.condition('DomainsReady')).toBe('Unknown DomainUnknown');
  });

  test('stays routed after the record is removed and after a restart, and is proven again after it was given up', async () => {
    const shop = world([HOST], { proof: true });
    texts = record();
    await settle(shop);
    texts = {};
    later(shop);
    shop.lookups = lookupsOf(shop);
    shop.restart();
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeDefined();
    shop.change(wanting([]));
    await settle(shop);
    shop.change(wanting([HOST]));
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(stateOf(shop)?.proof).toBe('PENDING');
  });

  test('is proven again for another token, with the record of the earlier one', async () => {
    const shop = world([HOST], { proof: true });
    texts = record();
    await settle(shop);
    shop.change(wanting([HOST], { domainToken: 'of another tenant' }));
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(stateOf(shop)?.proof).toBe('PENDING');
  });
});

describe('a host that was routed before the policy asked for proof', () => {
  const stricter = (shop: World) => {
    shop.policy = resolvePolicy('self_hosted', { domains: { require_proof: true } });
    shop.lookups = lookupsOf(shop);
    shop.restart();
  };

  async function routedBefore(): Promise<World> {
    const shop = world([HOST]);
    addresses = { [HOST]: ['203.0.113.7'] };
    await settle(shop);
    stricter(shop);
    await settle(shop);
    return shop;
  }

  test('keeps its route, also after a restart, and reports the missing record until it is found', async () => {
    const shop = await routedBefore();
    stricter(shop);
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeDefined();
    expect(stateOf(shop)).toMatchObject({ proof: 'PENDING', route: 'READY', routedBeforeProof: true });
    expect(shop.condition('DomainsReady')).toBe('False DomainUnproven');
    expect(message(shop, 'DomainsReady')).toContain(`${HOST} keeps its route, but is not proven`);
    texts = record();
    later(shop);
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ proof: 'READY', route: 'READY' });
    expect(stateOf(shop)?.routedBeforeProof).toBeUndefined();
    expect(shop.condition('DomainsReady')).toBe('True DomainsRouted');
  });

  test.each([
    ['is removed from the list', (shop: World) => shop.change(wanting([]))],
    ['loses its route by hand', (shop: World) => shop.cluster.remove(routeId(HOST))],
  ])('needs its proof when it %s', async (_what, giveUp) => {
    const shop = await routedBefore();
    giveUp(shop);
    await settle(shop);
    shop.change(wanting([HOST]));
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
    expect(stateOf(shop)).toMatchObject({ proof: 'PENDING', route: 'PENDING' });
  });

  test('gives no exemption to a host that is added later', async () => {
    const shop = await routedBefore();
    shop.change(wanting([HOST, OTHER]));
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeDefined();
    expect(shop.cluster.get(routeId(OTHER))).toBeUndefined();
  });
});

describe('a spec that cannot be parsed', () => {
  const reject = async (shop: World) => {
    shop.cluster.edit(RESOURCE_ID, (object) => {
      (object['spec'] as { routing: object }).routing = { url: 'no url', domains: [HOST] };
    });
    await shop.reconcileOnce().catch(() => []);
    expect(shop.condition('Ready')).toBe('False Refused');
  };
  const unknown = { host: HOST, dns: 'UNKNOWN', proof: 'UNKNOWN', certificate: 'UNKNOWN', route: 'UNKNOWN' };

  test('makes the states of the hosts UNKNOWN, and keeps their proof', async () => {
    const shop = world([HOST], { proof: true });
    addresses = { [HOST]: ['203.0.113.7'] };
    texts = record();
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ dns: 'READY', route: 'READY' });
    await reject(shop);
    expect(stateOf(shop)).toEqual({ ...unknown, challenge: challengeValue(NAMESPACE, 'token') });
    expect(shop.condition('DomainsReady')).toBe('Unknown Refused');
    texts = {};
    shop.lookups = lookupsOf(shop);
    shop.change(wanting([HOST]));
    shop.restart();
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ proof: 'READY', route: 'READY' });
  });

  test('keeps that a host was routed without proof, so that a stricter policy does not remove its route', async () => {
    const shop = world([HOST]);
    await settle(shop);
    await reject(shop);
    expect(stateOf(shop)).toEqual({ ...unknown, routedBeforeProof: true });
    shop.policy = resolvePolicy('self_hosted', { domains: { require_proof: true } });
    shop.change(wanting([HOST]));
    shop.restart();
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ proof: 'PENDING', route: 'READY' });
  });
});

describe('the certificate of an additional host', () => {
  const name = hostTlsSecretName({ metadata: { name: 'web' } }, hostHash(HOST));
  const certificate = (status: object, dnsNames = [HOST]): UntypedObject => ({
    apiVersion: 'cert-manager.io/v1',
    kind: 'Certificate',
    metadata: { name, namespace: NAMESPACE, generation: 2 },
    spec: { dnsNames, secretName: name },
    status,
  });
  const ready = (status: string, observedGeneration = 2, text = '') =>
    certificate({ conditions: [{ type: 'Ready', status, message: text, observedGeneration }] });

  test('is read from cert-manager, with its message while it is not ready', async () => {
    const shop = world([HOST], { issuer: 'letsencrypt' });
    addresses = { [HOST]: ['203.0.113.7'] };
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))?.['spec']).toMatchObject({
      tls: [{ hosts: [HOST], secretName: name }],
    });
    later(shop);
    await settle(shop);
    expect(stateOf(shop)?.certificate).toBe('PENDING');
    certificates = { [name]: ready('False', 2, 'CAA record prevents issuance') };
    later(shop);
    await settle(shop);
    expect(shop.condition('DomainsReady')).toBe('False DomainWithoutCertificate');
    expect(message(shop, 'DomainsReady')).toContain('CAA record prevents issuance');
    certificates = { [name]: ready('True') };
    later(shop);
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ certificate: 'READY', dns: 'READY' });
    expect(shop.condition('DomainsReady')).toBe('True DomainsRouted');
  });

  test.each([
    ['of an earlier generation', ready('True', 1), 'PENDING'],
    [
      'for another host',
      certificate({ conditions: [{ type: 'Ready', status: 'True' }] }, ['x.example']),
      'PENDING',
    ],
    ['without a status', certificate({}), 'PENDING'],
    ['that cannot be read', new KubeError({ kind: 'forbidden', message: 'no' }), 'UNKNOWN'],
  ])('is not reported as ready for a Certificate %s', async (_what, found, state) => {
    const shop = world([HOST], { issuer: 'letsencrypt' });
    addresses = { [HOST]: ['203.0.113.7'] };
    certificates = { [name]: found };
    await settle(shop);
    later(shop);
    await settle(shop);
    expect(stateOf(shop)?.certificate).toBe(state);
  });

  test('is not read without an issuer', async () => {
    const shop = world([HOST]);
    await settle(shop);
    expect(asked).not.toContain(name);
  });
});

describe('a host that two custom resources name', () => {
  const EARLIER = '2020-01-01T00:00:00Z';
  const neighbour = (on: World, routing: object, status: object = {}) => {
    const metadata = {
      name: 'neighbour',
      namespace: 'other',
      uid: 'b1f0c7de-0000-4000-8000-000000000009',
      creationTimestamp: EARLIER,
    };
    on.cluster.put({ ...resource({ ...wanting([]), routing }), metadata, status } as KubeObject);
  };

  test.each([
    ['domains', { domains: [HOST] }],
    ['its URL', { url: `https://${HOST}/path` }],
  ])(
    'belongs to the older one that has it in %s, and the other one serves under its URL',
    async (_what, routing) => {
      const shop = world([HOST]);
      neighbour(shop, routing);
      await settle(shop);
      expect(shop.cluster.get(routeId(HOST))).toBeUndefined();
      expect(stateOf(shop)).toMatchObject({ route: 'REFUSED' });
      expect(stateOf(shop)?.message).toBe(`the host ${HOST} belongs to another deployment`);
      expect(shop.condition('DomainsReady')).toBe('False DomainRefused');
      expect(shop.condition('Ready')).toBe('True Converged');
      expect(JSON.stringify([shop.status, shop.events])).not.toMatch(/neighbour|other\//);
      shop.cluster.remove('ManagedDeployment/other/neighbour');
      await settle(shop);
      expect(stateOf(shop)).toMatchObject({ route: 'READY' });
    },
  );

  test('refuses the route of a URL whose host an older one has in its domains', async () => {
    const shop = world([]);
    neighbour(shop, { domains: ['web.example.com'] });
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('False RouteRefused');
  });

  test('belongs to the one that has proven it, even if the other one is older', async () => {
    const shop = world([HOST], { proof: true });
    neighbour(shop, { domains: [HOST] });
    texts = record();
    await settle(shop);
    expect(stateOf(shop)).toMatchObject({ proof: 'READY', route: 'READY' });
    const late = world([HOST], { proof: true });
    const challenge = challengeValue('other', undefined);
    const recorded = {
      host: HOST,
      dns: 'READY',
      proof: 'READY',
      certificate: 'UNKNOWN',
      route: 'PENDING',
      challenge,
    };
    neighbour(late, { domains: [HOST] }, { domains: { recordGeneration: 0, hosts: [recorded] } });
    await settle(late);
    expect(stateOf(late)).toMatchObject({ proof: 'READY', route: 'REFUSED' });
  });
});

describe('the host of a URL that another custom resource has in its domains', () => {
  const URL_HOST = 'web.example.com';
  const squatter = (on: World, creationTimestamp: string, more: object = {}) => {
    const metadata = {
      name: 'squatter',
      namespace: 'other',
      uid: 'b1f0c7de-0000-4000-8000-000000000009',
      creationTimestamp,
    };
    const spec = resource({ ...wanting([]), routing: { domains: [URL_HOST] } });
    on.cluster.put({ ...spec, metadata, ...more } as KubeObject);
  };
  const EARLIER = '2020-01-01T00:00:00Z';
  const LATER = '2030-01-01T00:00:00Z';
  const proven = {
    host: URL_HOST,
    dns: 'READY',
    proof: 'READY',
    certificate: 'UNKNOWN',
    route: 'PENDING',
    challenge: challengeValue('other', undefined),
  };

  test('is routed when the policy refuses the older claim, as the default of cloud does', async () => {
    const shop = world([]);
    shop.policy = resolvePolicy('self_hosted', { domains: { allowed_hosts: [], require_proof: true } });
    squatter(shop, EARLIER);
    shop.restart();
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('True RouteExists');
  });

  test('is routed when the older claim is not proven', async () => {
    const shop = world([], { proof: true });
    squatter(shop, EARLIER);
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('True RouteExists');
  });

  test('is not routed when the newer claim is proven, so that two routes never have one host', async () => {
    const shop = world([], { proof: true });
    squatter(shop, LATER, { status: { domains: { recordGeneration: 0, hosts: [proven] } } });
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('False RouteRefused');
  });

  test('is not routed when a lookup has found the proof of the newer claim, before its status records it', async () => {
    const shop = world([], { proof: true });
    squatter(shop, LATER);
    const challenge = { name: challengeName(URL_HOST), value: challengeValue('other', undefined) };
    texts = { [challenge.name]: [challenge.value] };
    shop.lookups?.of('other/squatter', 'other', [{ host: URL_HOST, challenge, certificate: null }]);
    await new Promise((resolve) => setImmediate(resolve));
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('False RouteRefused');
  });

  test('keeps its route when the newer claim is proven later', async () => {
    const shop = world([], { proof: true });
    await settle(shop);
    squatter(shop, LATER, { status: { domains: { recordGeneration: 0, hosts: [proven] } } });
    await settle(shop);
    expect(shop.condition('RouteReady')).toBe('True RouteExists');
  });
});

test('a proven host keeps its route when an older URL has a route with it too', async () => {
  const shop = world([HOST], { proof: true });
  texts = record();
  await settle(shop);
  const uid = 'b1f0c7de-0000-4000-8000-000000000009';
  const metadata = { name: 'older', namespace: 'other', uid, creationTimestamp: '2020-01-01T00:00:00Z' };
  const spec = resource({ ...wanting([]), routing: { url: `https://${HOST}` } });
  shop.cluster.put({ ...spec, metadata } as KubeObject);
  const owner = { apiVersion: 'berth.dev/v1alpha1', kind: 'ManagedDeployment', name: 'older', uid };
  shop.cluster.put({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'older', namespace: 'other', ownerReferences: [{ ...owner, controller: true }] },
    spec: { rules: [{ host: HOST }] },
  } as KubeObject);
  await settle(shop);
  expect(stateOf(shop)).toMatchObject({ proof: 'READY', route: 'READY' });
  expect(shop.cluster.get(routeId(HOST))).toBeDefined();
});

test('an unproven claim does not hide the TXT record from another one', async () => {
  const shop = world([HOST], { proof: true });
  const metadata = {
    name: 'squatter',
    namespace: 'other',
    uid: 'b1f0c7de-0000-4000-8000-000000000009',
    creationTimestamp: '2020-01-01T00:00:00Z',
  };
  const squatter = resource({ ...wanting([]), routing: { domains: [HOST] } });
  shop.cluster.put({ ...squatter, metadata } as KubeObject);
  await settle(shop);
  expect(shop.condition('DomainsReady')).toBe('False DomainUnproven');
  expect(message(shop, 'DomainsReady')).toContain(challengeName(HOST));
});

describe('hosts of the platform and of the policy', () => {
  test.each([
    ['berth.example.com', "berth.example.com must not be the platform's own host"],
    ['registry.example.com', "registry.example.com must not be the platform's own host"],
    ['x.apps.example.com', "x.apps.example.com must not be in the platform's domain apps.example.com"],
    ['admin.example.net', 'admin.example.net is a host that the policy does not allow'],
    ['console.example.net', 'console.example.net is a host that the policy does not allow'],
  ])('are never routed: %s', async (host, text) => {
    const shop = world([host]);
    shop.ownHost = 'berth.example.com';
    shop.platformHosts = ['registry.example.com'];
    shop.appDomain = 'apps.example.com';
    shop.policy = resolvePolicy('self_hosted', {
      custom_url: { refused_hosts: ['console.*'] },
      domains: { refused_hosts: ['admin.*'] },
    });
    shop.restart();
    await settle(shop);
    expect(shop.cluster.get(routeId(host))).toBeUndefined();
    expect(stateOf(shop, host)).toMatchObject({ route: 'REFUSED', message: text });
  });

  test('a route stays when the policy becomes narrower, and the host of the URL is not routed twice', async () => {
    const shop = world([HOST, 'web.example.com', HOST]);
    await settle(shop);
    shop.policy = resolvePolicy('self_hosted', { domains: { allowed_hosts: [] } });
    shop.restart();
    await settle(shop);
    expect(shop.cluster.get(routeId(HOST))).toBeDefined();
    expect(shop.status.domains?.hosts.map(({ host }) => host)).toEqual([HOST]);
    expect(shop.cluster.get(RESOURCE_ID)).toBeDefined();
    expect(KEY).toBe(`${NAMESPACE}/web`);
  });
});
