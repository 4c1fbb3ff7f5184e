import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReflectorHandlers } from '../../../../../src/cluster/kube/cache/reflector.ts';
import type { KubeClient } from '../../../../../src/cluster/kube/client/client.ts';
import { cleanUpCertificates } from '../../../../../src/cluster/listener/apply/certificates.ts';
import { EnvSecrets } from '../../../../../src/cluster/listener/apply/env-secrets.ts';
import { formerDomainHashes } from '../../../../../src/cluster/listener/apply/former-domains.ts';
import type { Resource } from '../../../../../src/cluster/listener/resource-view.ts';
import { hostHash } from '../../../../../src/contract/resource/names.ts';
import { FakeClock, recordingLogger } from '../../kube/support.ts';
import { FakeCluster, fakeTerm, NAME, NAMESPACE, settle, specOf } from '../fixtures.ts';

const NOTE = 'berth.dev/former-host';
const SECRET = `${NAME}-tls`;

let cluster: FakeCluster;
let clock: FakeClock;
let handlers: ReflectorHandlers<Resource>;
let ending: AbortController;
let running: Promise<void>;

const live = () => cluster.get('ManagedDeployment', NAME) as unknown as Resource | undefined;
const isNoted = () => live()?.metadata.annotations?.[NOTE] === 'true';
const isThere = () => cluster.get('Secret', SECRET) !== undefined;

/** The state that the operator has observed; `routed`: the host of the route. */
function put(url: string | null, routed: string | null, more: { unseen?: boolean } = {}): void {
  const spec = specOf(1, { routing: url === null ? {} : { url } });
  const stored = cluster.put({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: NAME, namespace: NAMESPACE, annotations: { [NOTE]: 'true' } },
    spec,
  });
  const observedGeneration = (stored.metadata.generation ?? 0) - (more.unseen === true ? 1 : 0);
  const status = { observedGeneration, ...(routed === null ? {} : { url: routed }) };
  cluster.objects.set(`ManagedDeployment ${NAMESPACE}/${NAME}`, { ...stored, status });
  handlers.updated?.(live() as Resource, live() as Resource);
}

function certificate(hosts: string | null, name = SECRET): void {
  cluster.put({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: SECRET,
      namespace: NAMESPACE,
      annotations: {
        'cert-manager.io/certificate-name': name,
        ...(hosts === null ? {} : { 'cert-manager.io/alt-names': hosts }),
      },
    },
  });
}

async function pass(ms: number): Promise<void> {
  await settle();
  clock.advance(ms);
  await settle();
}

beforeEach(async () => {
  cluster = new FakeCluster();
  clock = new FakeClock();
  ending = new AbortController();
  const { client } = cluster;
  const patching: Pick<KubeClient, 'patch'> = {
    patch: async (_kind, { namespace = '', name }, patch) => {
      const object = cluster.objects.get(`ManagedDeployment ${namespace}/${name}`);
      const { resourceVersion, annotations } = (patch as { metadata: Resource['metadata'] }).metadata;
      expect(resourceVersion).toBe(object?.metadata.resourceVersion);
      const marks = Object.keys(object?.metadata.annotations ?? {});
      expect(annotations).toEqual(Object.fromEntries(marks.map((mark) => [mark, null])));
      if (object !== undefined) object.metadata.annotations = {};
      return object as never;
    },
  };
  running = cleanUpCertificates({
    client: patching,
    secrets: new EnvSecrets({ client, logger: recordingLogger() }),
    view: {
      get: live as never,
      noteWrite: () => {},
      addHandlers: (given) => {
        handlers = given;
        return () => {};
      },
    },
    term: fakeTerm(),
    logger: recordingLogger(),
    clock,
    signal: ending.signal,
    abort: new AbortController().signal,
  });
  await settle();
});
afterEach(async () => {
  ending.abort();
  await running;
});

test('a certificate is removed shortly after its route is gone, and the mark once no certificate is left', async () => {
  certificate('a.example.com');
  put(null, 'https://a.example.com');
  await pass(60_000);
  expect([isThere(), isNoted()]).toEqual([true, true]);
  put(null, null, { unseen: true });
  await pass(60_000);
  expect(isThere()).toBe(true);
  put(null, null);
  await pass(4_000);
  expect(isThere()).toBe(true);
  await pass(1_000);
  expect([isThere(), isNoted()]).toEqual([false, true]);
  await pass(10_000);
  expect(isNoted()).toBe(false);
});

test('a certificate that cert-manager creates again is removed again, at growing intervals', async () => {
  certificate('a.example.com');
  put(null, null);
  await pass(5_000);
  certificate('a.example.com');
  await pass(9_000);
  expect(isThere()).toBe(true);
  await pass(1_000);
  expect([isThere(), isNoted()]).toEqual([false, true]);
  await pass(20_000);
  expect(isNoted()).toBe(false);
});

test.each([
  ['for the current host stays', 'b.example.com', SECRET, true],
  ['for the former host is removed', 'a.example.com', SECRET, false],
  ['without a known host stays', null, SECRET, true],
  ['of another Certificate resource stays', 'a.example.com', 'somebody', true],
])('after a change of the host, a certificate %s', async (_name, hosts, name, stays) => {
  certificate(hosts, name);
  put('https://b.example.com/path', 'https://b.example.com/path');
  await pass(10_000);
  await pass(20_000);
  expect([isThere(), isNoted()]).toEqual([stays, false]);
});

describe('additional hosts', () => {
  const FORMER = 'berth.dev/former-domains';
  const [gone, kept] = ['gone.example.org', 'kept.example.org'];
  const secretOf = (host: string) => `${NAME}-tls-${hostHash(host)}`;
  const isKept = (host: string) => cluster.get('Secret', secretOf(host)) !== undefined;
  const isMarked = () => live()?.metadata.annotations?.[FORMER] !== undefined;

  function putHosts(noted: string, routed: readonly string[]): void {
    const stored = cluster.put({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ManagedDeployment',
      metadata: { name: NAME, namespace: NAMESPACE, annotations: { [FORMER]: noted } },
      spec: specOf(1, { routing: { domains: [kept] } }),
    });
    const routes = { recordGeneration: 1, hosts: [...routed] };
    const status = { observedGeneration: stored.metadata.generation, routes };
    cluster.objects.set(`ManagedDeployment ${NAMESPACE}/${NAME}`, { ...stored, status });
    handlers.updated?.(live() as Resource, live() as Resource);
  }

  beforeEach(() => {
    for (const host of [gone, kept]) {
      const name = secretOf(host);
      const annotations = { 'cert-manager.io/certificate-name': name, 'cert-manager.io/alt-names': host };
      cluster.put({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: NAMESPACE, annotations },
      });
    }
  });

  test('lose the certificates of removed hosts when their routes are gone, and no other certificate', async () => {
    putHosts(hostHash(gone), [gone, kept]);
    await pass(60_000);
    expect([isKept(gone), isMarked()]).toEqual([true, true]);
    putHosts(hostHash(gone), [kept]);
    await pass(5_000);
    expect([isKept(gone), isKept(kept), isMarked()]).toEqual([false, true, true]);
    await pass(10_000);
    expect([isKept(kept), isMarked()]).toEqual([true, false]);
  });

  test('ignore parts of the annotation that are no hashes', async () => {
    putHosts('../x,0123456789abcdef,,UPPER00000', [kept]);
    await pass(5_000);
    await pass(10_000);
    expect([isKept(gone), isKept(kept), isMarked()]).toEqual([true, true, false]);
  });

  test('are noted when the next spec lacks them, until they return', () => {
    const resource = (domains: string[], noted?: string) =>
      ({
        metadata: { annotations: noted === undefined ? {} : { [FORMER]: noted } },
        spec: { routing: { domains } },
      }) as unknown as Resource;
    const next = (domains: string[]) => ({ routing: { domains } });
    expect(formerDomainHashes(undefined, next([kept]))).toEqual([]);
    expect(formerDomainHashes(resource([gone, kept]), next([kept]))).toEqual([hostHash(gone)]);
    expect(formerDomainHashes(resource([kept], hostHash(gone)), next([]))).toEqual([
      hostHash(gone),
      hostHash(kept),
    ]);
    expect(formerDomainHashes(resource([kept], hostHash(gone)), next([gone, kept]))).toEqual([]);
  });
});
