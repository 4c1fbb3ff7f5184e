/** Additional hosts of custom resources, with a real API server and a real DNS server. routing.test.ts covers the Gateway API. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import type { ManagedDeploymentStatus } from '../../../../src/contract/resource/managed-deployment.ts';
import { hostHash } from '../../../../src/contract/resource/names.ts';
import { challengeName, challengeValue } from '../../../../src/domain/app-hosts/challenge.ts';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import { CERTIFICATES, certificateCrd } from '../../../cluster/certificate-crd.ts';
import { type DnsServer, startDnsServer } from '../../../dns-server.ts';
import { kubectlAsAdmin } from '../../harness/environment.ts';
import {
  condition,
  type OperatorWorld,
  operatorWorld,
  type RunningOperator,
  startOperator,
} from '../../harness/operator.ts';
import { App, adminClient, appSpec } from '../../harness/rollouts.ts';

const TOKEN = 'token-of-the-tenant';
const ADDRESS = '203.0.113.7';

let world: OperatorWorld;
let client: KubeClient;
let dns: DnsServer;
let operator: RunningOperator;

beforeAll(async () => {
  world = await operatorWorld('domains');
  client = await adminClient();
  dns = await startDnsServer();
  await kubectlAsAdmin(['apply', '--server-side', '-f', '-'], JSON.stringify(certificateCrd()));
  operator = await start(ingress);
});
afterAll(async () => {
  await operator.stop();
  await kubectlAsAdmin(['delete', 'crd', CERTIFICATES, '--ignore-not-found', '--wait=false']);
  await dns.stop();
  await client.close();
  await world.end();
});

const ingress = { routing: { mode: 'ingress', className: 'nginx', tlsIssuer: 'letsencrypt' } } as const;

const start = (config: Partial<RenderConfig>) =>
  startOperator({
    ...world.another('domains', config),
    policy: resolvePolicy('self_hosted', { domains: { require_proof: true } }),
    dnsServers: [dns.address],
    lookupIntervals: { firstMs: 200, slowestMs: 500, settledMs: 1_000 },
    discoveryMs: 500,
  });

async function restart(config: Partial<RenderConfig>): Promise<void> {
  await operator.stop();
  operator = await start(config);
}

const host = (name: string) => `${name}.${world.namespace}.example.org`;
const routeOf = (app: string, name: string) => `${app}-host-${hostHash(host(name))}`;
const spec = (names: string[], more: object = {}) =>
  appSpec(1, 'registry.test/web:1', { routing: { domains: names.map(host), domainToken: TOKEN, ...more } });
const stateOf = (status: ManagedDeploymentStatus, name: string) =>
  status.domains?.hosts.find((each) => each.host === host(name));
const prove = (name: string, value = challengeValue(world.namespace, TOKEN)) =>
  dns.set('TXT', challengeName(host(name)), [value]);

describe('an additional host', () => {
  test('is routed after its TXT record appears, and is ready with DNS record and certificate', async () => {
    const shop = new App(client, world.namespace, 'shop');
    await shop.apply(spec(['shop']));
    const waiting = await shop.until(
      'waiting for proof',
      (now) => condition(now, 'DomainsReady') === 'False DomainUnproven',
    );
    expect(stateOf(waiting, 'shop')?.message).toContain(challengeValue(world.namespace, TOKEN));
    await shop.ready();
    expect(await world.get('ingress', routeOf('shop', 'shop'))).toBeUndefined();

    prove('shop', challengeValue('another-namespace', TOKEN));
    await shop.until('looked up again', (now) => stateOf(now, 'shop')?.proof === 'PENDING');
    expect(await world.get('ingress', routeOf('shop', 'shop'))).toBeUndefined();

    prove('shop');
    const lacking = await shop.until(
      'without DNS',
      (now) => condition(now, 'DomainsReady') === 'False DomainWithoutDns',
    );
    expect(stateOf(lacking, 'shop')).toMatchObject({ proof: 'READY', route: 'READY', dns: 'PENDING' });
    const secretName = `shop-tls-${hostHash(host('shop'))}`;
    expect(await world.get('ingress', routeOf('shop', 'shop'))).toMatchObject({
      metadata: { annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' } },
      spec: { rules: [{ host: host('shop') }], tls: [{ hosts: [host('shop')], secretName }] },
    });

    dns.set('CNAME', host('shop'), ['edge.example.net']);
    dns.set('A', 'edge.example.net', [ADDRESS]);
    await shop.until(
      'without certificate',
      (now) => condition(now, 'DomainsReady') === 'False DomainWithoutCertificate',
    );
    const certificate = {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      metadata: { name: secretName, namespace: world.namespace },
      spec: { secretName, dnsNames: [host('shop')] },
    };
    await kubectlAsAdmin(['create', '-f', '-'], JSON.stringify(certificate));
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Ready', message: 'issued' }];
    await world.kubectl(
      ...['patch', CERTIFICATES, secretName, '--subresource=status', '--type=merge'],
      ...['-p', JSON.stringify({ status: { conditions } })],
    );
    const ready = await shop.until('ready', (now) => condition(now, 'DomainsReady') === 'True DomainsRouted');
    expect(stateOf(ready, 'shop')).toMatchObject({ dns: 'READY', certificate: 'READY', route: 'READY' });
    // No watch reports a removed DNS record.
    dns.set('CNAME', host('shop'), []);
    await shop.until(
      'without DNS again',
      (now) => condition(now, 'DomainsReady') === 'False DomainWithoutDns',
    );
  });

  test('is proven again after it was given up, and keeps its route after a restart without the record', async () => {
    const kept = new App(client, world.namespace, 'kept');
    prove('kept');
    await kept.apply(spec(['kept']));
    await kept.until('routed', (now) => stateOf(now, 'kept')?.route === 'READY');
    dns.set('TXT', challengeName(host('kept')), []);
    await restart(ingress);
    await kept.until('looked up', (now) => stateOf(now, 'kept')?.dns === 'PENDING');
    expect(await world.get('ingress', routeOf('kept', 'kept'))).toBeDefined();
    await kept.apply(spec([]));
    await world.gone('ingress', routeOf('kept', 'kept'));
    await kept.apply(spec(['kept']));
    await kept.until('waiting for proof', (now) => stateOf(now, 'kept')?.proof === 'PENDING');
    expect(await world.get('ingress', routeOf('kept', 'kept'))).toBeUndefined();
  });

  test('is UNKNOWN while the DNS server does not answer, and the app stays ready', async () => {
    const quiet = new App(client, world.namespace, 'quiet');
    prove('quiet');
    dns.set('A', host('quiet'), [ADDRESS]);
    await quiet.apply(spec(['quiet']));
    await quiet.until('routed', (now) => stateOf(now, 'quiet')?.dns === 'READY');
    dns.behave('failing');
    const unknown = await quiet.until('unknown', (now) => stateOf(now, 'quiet')?.dns === 'UNKNOWN');
    expect(condition(unknown, 'Ready')).toBe('True Converged');
    expect(await world.get('ingress', routeOf('quiet', 'quiet'))).toBeDefined();
    dns.behave('normal');
    await quiet.until('known again', (now) => stateOf(now, 'quiet')?.dns === 'READY');
  });

  test('belongs to the resource that has proven it, and is passed on when that one gives it up', async () => {
    const [older, newer] = [
      new App(client, world.namespace, 'older'),
      new App(client, world.namespace, 'newer'),
    ];
    await older.apply(spec(['wanted'], { domainToken: 'older' }));
    await older.until('waiting for proof', (now) => stateOf(now, 'wanted')?.proof === 'PENDING');
    prove('wanted');
    await newer.apply(spec(['wanted']));
    await newer.until('routed', (now) => stateOf(now, 'wanted')?.route === 'READY');
    dns.set('TXT', challengeName(host('wanted')), [challengeValue(world.namespace, 'older')]);
    const refused = await older.until('refused', (now) => stateOf(now, 'wanted')?.route === 'REFUSED');
    expect(stateOf(refused, 'wanted')?.message).toBe(
      `the host ${host('wanted')} belongs to another deployment`,
    );
    await newer.apply(spec([]));
    await older.until('routed', (now) => stateOf(now, 'wanted')?.route === 'READY');
  });

  test('is rejected by the API server in another form than a DNS name in lower case', async () => {
    const bad = new App(client, world.namespace, 'bad');
    for (const wrong of ['*.example.org', 'UPPER.example.org', 'shop', 'a/b.example.org', 'x.example.org.'])
      await expect(
        bad.apply(appSpec(1, 'registry.test/web:1', { routing: { domains: [wrong] } })),
      ).rejects.toThrow(/spec\.routing\.domains/);
  });
});
