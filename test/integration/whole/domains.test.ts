/** Additional hosts from the request to the route and back: API, listener, operator, a real API server and a real DNS server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostHash } from '../../../src/contract/resource/names.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type DnsServer, startDnsServer } from '../../dns-server.ts';
import {
  type DeploymentAnswer,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

interface DomainStatus {
  host: string;
  dns: string;
  proof: string;
  certificate: string;
  route: string;
  message?: string;
  challenge: { name: string; value: string };
}
type Shown = DeploymentAnswer & {
  source_config: { domains?: string[] };
  domains_status?: DomainStatus[];
};
interface Explanation {
  causes: { condition: string | null; reason: string; message: string }[];
  remedy: { kind: string; reason: string; text: string } | null;
}

let dns: DnsServer;
let berth: WholeBerth;
const folder = mkdtempSync(join(tmpdir(), 'berth-domains-'));
beforeAll(async () => {
  dns = await startDnsServer();
  const policy = join(folder, 'policy.yaml');
  writeFileSync(policy, 'domains: { require_proof: true, refused_hosts: ["*.example.net"] }\n');
  berth = await startWholeBerth('domains', {
    settings: {
      BERTH_ROUTING: 'ingress',
      BERTH_DNS_SERVERS: dns.address,
      BERTH_POLICY: policy,
      BERTH_DELETION_GRACE: '600',
    },
  });
});
afterAll(async () => {
  await berth?.stop();
  await dns.stop();
  rmSync(folder, { recursive: true });
});

const host = (name: string) => `${name}.${berth.namespace}.example.org`;
const patch = (id: string, domains: string[] | null) =>
  berth.call<Shown>('PATCH', `/v2/deployments/${id}`, { source_config: { domains } });
const appOf = ({ id, name }: DeploymentAnswer) => `${name}-${id.replaceAll('-', '').slice(-8)}`;
const routesOf = async (of: DeploymentAnswer) =>
  (await berth.get('ingress', '-l', `berth.dev/deployment-id=${of.id}`)).items.map(
    ({ metadata }) => metadata.name,
  );
const until = (id: string, what: string, check: (status: DomainStatus | undefined) => boolean) =>
  berth.until(id, what, (now) => check((now as Shown).domains_status?.[0])) as Promise<Shown>;
const explained = async ({ id, latest_revision_id: revision }: DeploymentAnswer) =>
  (await berth.call<Explanation>('GET', `/v2/deployments/${id}/revisions/${revision}/explain`)).body;

test('a host is routed after proof, its status and explain name what it lacks, and the deployment stays READY', async () => {
  const one = host('one');
  const made = (await berth.create(smallDeployment('shop', { source_config: { domains: [one] } }))) as Shown;
  const challenge = made.domains_status?.[0]?.challenge;
  expect(made.domains_status).toMatchObject([
    { host: one, dns: 'UNKNOWN', proof: 'UNKNOWN', route: 'UNKNOWN' },
  ]);
  expect(challenge?.name).toBe(`_berth-challenge.${one}`);
  await berth.ready(made.id);
  const waiting = await until(made.id, 'waiting for proof', (status) => status?.proof === 'PENDING');
  expect(waiting).toMatchObject({ status: 'READY', domains_status: [{ route: 'PENDING', challenge }] });
  expect(waiting.domains_status?.[0]?.message).toContain(challenge?.value);
  expect(await routesOf(made)).toEqual([]);
  const unproven = await explained(waiting);
  expect(unproven.causes).toContainEqual(
    expect.objectContaining({ condition: 'DomainsReady', reason: 'DomainUnproven' }),
  );
  expect(unproven.remedy).toMatchObject({ kind: 'act', reason: 'DomainUnproven' });

  dns.set('TXT', `_berth-challenge.${one}`, [challenge?.value ?? '']);
  const routed = await until(made.id, 'routed', (status) => status?.route === 'READY');
  expect(routed.domains_status).toMatchObject([{ proof: 'READY', dns: 'PENDING' }]);
  expect(await routesOf(made)).toEqual([`${appOf(made)}-host-${hostHash(one)}`]);
  expect(await explained(routed)).toMatchObject({ remedy: { kind: 'act', reason: 'DomainWithoutDns' } });

  dns.set('A', one, ['203.0.113.7']);
  const ready = await until(made.id, 'ready', (status) => status?.dns === 'READY');
  expect(ready.domains_status?.[0]).not.toHaveProperty('message');
  expect((await explained(ready)).remedy).toBeNull();
  expect(ready.conditions).toContainEqual(
    expect.objectContaining({ type: 'DomainsReady', status: 'True', reason: 'DomainsRouted' }),
  );
});

test('a host is proven again for the next deployment after a deletion, and after a restore', async () => {
  const one = host('reused');
  const first = (await berth.create(
    smallDeployment('first', { source_config: { domains: [one] } }),
  )) as Shown;
  const challenge = first.domains_status?.[0]?.challenge;
  dns.set('TXT', challenge?.name ?? '', [challenge?.value ?? '']);
  await until(first.id, 'routed', (status) => status?.route === 'READY');
  dns.set('TXT', challenge?.name ?? '', []);
  expect((await berth.call('DELETE', `/v2/deployments/${first.id}`)).status).toBe(204);
  await waitFor('the route to be gone', async () => (await routesOf(first)).length === 0, {
    timeoutMs: 60_000,
  });
  const next = await waitFor(
    'the host',
    async () => {
      const answer = await berth.call<Shown>(
        'POST',
        '/v2/deployments',
        smallDeployment('next', { source_config: { domains: [one] } }),
      );
      return answer.status === 201 ? answer.body : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 300 },
  );
  await until(next.id, 'waiting for proof', (status) => status?.proof === 'PENDING');
  expect(await routesOf(next)).toEqual([]);
  // The tenant has the same token, so that the same record proves the host again.
  expect(next.domains_status?.[0]?.challenge).toEqual(challenge);
  dns.set('TXT', challenge?.name ?? '', [challenge?.value ?? '']);
  await until(next.id, 'routed', (status) => status?.route === 'READY');

  const restored = await berth.call<Shown>('POST', `/v2/deployments/${first.id}/restore`);
  expect(restored.status).toBe(200);
  expect(restored.body.source_config).not.toHaveProperty('domains');
  await patch(next.id, null);
  await waitFor('the host', async () => (await patch(first.id, [one])).status === 200, {
    timeoutMs: 60_000,
    intervalMs: 300,
  });
  dns.set('TXT', challenge?.name ?? '', []);
  expect((await berth.call('DELETE', `/v2/deployments/${first.id}`)).status).toBe(204);
  await waitFor('the route to be gone', async () => (await routesOf(first)).length === 0, {
    timeoutMs: 60_000,
  });
  const back = await berth.call<Shown>('POST', `/v2/deployments/${first.id}/restore`);
  expect(back.body.source_config.domains).toEqual([one]);
  expect(back.body.domains_status).toMatchObject([{ route: 'UNKNOWN' }]);
  await until(first.id, 'waiting for proof', (status) => status?.proof === 'PENDING');
  expect(await routesOf(first)).toEqual([]);
});

test('a custom resource by hand needs proof too, and cannot take a host that the hub has given away', async () => {
  const one = host('taken');
  const made = (await berth.create(smallDeployment('owner', { source_config: { domains: [one] } }))) as Shown;
  const { name, value } = made.domains_status?.[0]?.challenge ?? { name: '', value: '' };
  dns.set('TXT', name, [value]);
  await until(made.id, 'routed', (status) => status?.route === 'READY');
  const byHand = {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'by-hand', namespace: berth.namespace },
    spec: {
      revision: { image: 'registry.test/web:1' },
      database: { external: true },
      cache: { external: true },
      routing: { domains: [one, host('own'), 'x.example.net'] },
    },
  };
  await kubectlAsAdmin(['apply', '--server-side', '-f', '-'], JSON.stringify(byHand));
  type Hosts = {
    status?: { domains?: { hosts: { host: string; proof: string; route: string; message?: string }[] } };
  };
  const hosts = await waitFor(
    'the status',
    async () => {
      const found = JSON.parse(
        await kubectlAsAdmin(['-n', berth.namespace, 'get', 'mdep', 'by-hand', '-o', 'json']),
      ) as Hosts;
      const known = found.status?.domains?.hosts;
      return known?.every(({ proof }) => proof === 'PENDING') === true ? known : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 300 },
  );
  expect(hosts).toMatchObject([
    { host: one, route: 'REFUSED', message: `the host ${one} belongs to another deployment` },
    { host: host('own'), route: 'PENDING' },
    { host: 'x.example.net', route: 'REFUSED' },
  ]);
  const ingresses = (await berth.get('ingress')).items.filter(({ metadata }) =>
    metadata.name.startsWith('by-hand'),
  );
  expect(ingresses).toEqual([]);
  await kubectlAsAdmin(['-n', berth.namespace, 'delete', 'mdep', 'by-hand']);
});
