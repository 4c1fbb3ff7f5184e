/**
 * Tags and digests with real components: registries with and without passwords, an unmodified crane, and a whole
 * Berth whose revisions run the digest that a tag had when they began.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signAccessToken } from '../../../src/hub/registry/access-token.ts';
import { parseSigningKeys } from '../../../src/hub/registry/signing-key.ts';
import { pushBaseImage } from '../../cluster/images/base-images.ts';
import { crane, writeDockerConfig } from '../../cluster/images/crane.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  type DeploymentAnswer,
  isReady,
  type KubeItem,
  smallDeployment,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

interface Revision {
  id: string;
  number: number;
  status: string;
  reason: string | null;
  message: string | null;
  resolved_image: string | null;
  source_revision_config: { image_uri: string };
}
interface Event {
  reason: string;
  message: string;
  revision_id: string | null;
}

let folder: string;
let berth: WholeBerth;
let registry: LocalRegistry;
let guarded: LocalRegistry;
/** Accepts connections and never responds. */
let silent: { host: string; asked: string[] };
/** Responds as the test specifies. */
let scripted: { host: string; answer: RequestListener };
/** Digests of two images that a tag may point to. */
let first: string;
let second: string;
const servers: Server[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const PULLER = { username: 'puller', password: 'right' };

/** A registry that issues tokens to clients with the password. */
async function startGuarded(): Promise<LocalRegistry> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [key] = parseSigningKeys(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  const host = await serve(async ({ url = '', headers }, response) => {
    const right = `Basic ${Buffer.from(`${PULLER.username}:${PULLER.password}`).toString('base64')}`;
    if (headers.authorization !== right) return response.writeHead(401).end();
    const scopes = new URL(url, 'http://localhost').searchParams.getAll('scope').flatMap((s) => s.split(' '));
    const access = scopes.map((scope) => {
      const [type = '', name = '', actions = ''] = scope.split(':');
      return { type, name, actions: actions.split(',') };
    });
    const claims = { issuer: 'berth', audience: 'registry', subject: 'test', access };
    const token = await signAccessToken(key, { ...claims, issuedAt: new Date(), lifeSeconds: 300 });
    return response.end(JSON.stringify({ token }));
  });
  const realm = `http://${host.replace('127.0.0.1', 'localhost')}/token`;
  const jwks = JSON.stringify({ keys: [key.jwk] });
  return await startRegistry({ auth: { realm, service: 'registry', issuer: 'berth', jwks } });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-digests-'));
  [registry, guarded] = await Promise.all([startRegistry(), startGuarded()]);
  const asked: string[] = [];
  silent = { asked, host: await serve(({ url = '' }) => asked.push(url)) };
  const answers: typeof scripted = { host: '', answer: (_, response) => response.writeHead(503).end() };
  answers.host = await serve((request, response) => answers.answer(request, response));
  scripted = answers;
  const hosts = [registry.host, guarded.host, silent.host, scripted.host];
  [first, berth] = await Promise.all([
    pushBaseImage('static', registry.host).then(({ digest }) => digest),
    startWholeBerth('digests', {
      settings: {
        BERTH_RESOLVE_IMAGES: 'true',
        BERTH_RESOLVE_TIMEOUT_SECONDS: '2',
        BERTH_INSECURE_REGISTRIES: hosts.join(','),
      },
    }),
  ]);
  await crane(['mutate', base(), '--label', 'of=second', '--tag', `${registry.host}/base/second:1`]);
  second = await crane(['digest', `${registry.host}/base/second:1`]);
}, FIRST_TIME_MS);
afterAll(async () => {
  await berth?.stop();
  await Promise.all([registry?.stop(), guarded?.stop()]);
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

const base = () => `${registry.host}/base/static:latest`;
/** Makes the tag point to the first or the second image. */
const tag = (name: string, which: 'first' | 'second') =>
  crane([
    'copy',
    which === 'first' ? `${registry.host}/base/static@${first}` : `${registry.host}/base/second@${second}`,
    `${registry.host}/${name}`,
  ]);

/** A deployment with its own database and cache, so that only the app rolls out. */
const alone = (name: string, image: string) =>
  smallDeployment(name, {
    image,
    secrets: [
      { name: 'DATABASE_URI_CUSTOM', value: 'postgres://db.example/app' },
      { name: 'CACHE_URI_CUSTOM', value: 'redis://cache.example/0' },
    ],
  });

const path = (id: string, more = '') => `/v2/deployments/${id}${more}`;
const revisionsOf = async (id: string): Promise<Revision[]> => {
  const { body } = await berth.call<{ resources: Revision[] }>('GET', path(id, '/revisions'));
  return body.resources;
};
const revisionOf = async (id: string, number: number): Promise<Revision> => {
  const found = (await revisionsOf(id)).find((revision) => revision.number === number);
  if (found === undefined) throw new Error(`there is no revision ${number}`);
  return found;
};
/** Waits for the state of a revision that a report produces. */
const untilRevision = (id: string, number: number, check: (revision: Revision) => boolean) =>
  waitFor(
    `revision ${number}`,
    async () => {
      const revision = await revisionOf(id, number);
      return check(revision) ? revision : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
const resolved = (id: string, number: number, image: string) =>
  untilRevision(id, number, ({ resolved_image }) => resolved_image === image);
const again = async (id: string, verb = '') => {
  const { status } = await berth.call('POST', path(id, `/revisions${verb}`));
  expect(status).toBe(201);
};
const eventsOf = async (id: string, reason: string): Promise<Event[]> => {
  const { body } = await berth.call<{ resources: Event[] }>('GET', path(id, '/events?limit=100'));
  return body.resources.filter((event) => event.reason === reason);
};
const imageReady = ({ conditions }: DeploymentAnswer) =>
  conditions.find(({ type }) => type === 'ImageReady')?.reason;

/** The Deployment of the api component in the cluster. */
async function workload(id: string): Promise<KubeItem> {
  const selector = `-lberth.dev/deployment-id=${id},app.kubernetes.io/component=api`;
  const { items } = await berth.get('deployments', selector);
  if (items[0] === undefined) throw new Error('there is no api');
  return items[0];
}
const imageOf = ({ spec }: KubeItem) =>
  (spec as { template: { spec: { containers: { image: string }[] } } }).template.spec.containers[0]?.image;

describe('a tag', () => {
  let image: string;
  let shop: DeploymentAnswer;

  beforeAll(async () => {
    image = `${registry.host}/team/shop:stable`;
    await tag('team/shop:stable', 'first');
    shop = await berth.ready((await berth.create(smallDeployment('shop', { image }))).id);
  });

  test('is resolved when its revision starts, and pods, status, API and history show the digest', async () => {
    const pinned = `${image}@${first}`;
    expect(imageOf(await workload(shop.id))).toBe(pinned);
    const revision = await resolved(shop.id, 1, pinned);
    expect(revision.source_revision_config.image_uri).toBe(image);
    expect(imageReady(await berth.ready(shop.id))).toBe('ImageResolved');
    const { items } = await berth.get('mdep', `-lberth.dev/deployment-id=${shop.id}`);
    expect(items[0]?.status).toMatchObject({
      image: { number: 1, image: pinned },
      activeRevision: { image: pinned },
    });
    expect(await eventsOf(shop.id, 'ImageResolved')).toMatchObject([
      { revision_id: revision.id, message: `Revision 1 runs ${pinned}.` },
    ]);
  });

  test('starts no rollout when it moves, and keeps its digest when labels change', async () => {
    await resolved(shop.id, 1, `${image}@${first}`);
    await tag('team/shop:stable', 'second');
    const { status, body } = await berth.call('PATCH', path(shop.id), {
      source_config: { resource_spec: { labels: { team: 'shop' } } },
    });
    expect(status).toBe(200);
    await berth.until(
      shop.id,
      'relabelled',
      (now) => isReady(now) && now.observed_generation === body.generation,
    );
    const api = await workload(shop.id);
    expect(api.metadata.labels).toMatchObject({ team: 'shop' });
    expect(imageOf(api)).toBe(`${image}@${first}`);
  });

  test('is resolved again for a new revision, and a rollback uses the former digest', async () => {
    await again(shop.id);
    await resolved(shop.id, 2, `${image}@${second}`);
    await berth.ready(shop.id);
    expect(imageOf(await workload(shop.id))).toBe(`${image}@${second}`);
    await again(shop.id, `/${(await revisionOf(shop.id, 1)).id}/rollback`);
    await berth.ready(shop.id);
    expect(imageOf(await workload(shop.id))).toBe(`${image}@${first}`);
    expect(await revisionOf(shop.id, 3)).toMatchObject({
      status: 'DEPLOYED',
      resolved_image: `${image}@${first}`,
      source_revision_config: { image_uri: image },
    });
  });

  test('fails a rollback to a deleted image, and changes nothing else', async () => {
    await crane(['delete', `${registry.host}/team/shop@${second}`]);
    const before = await workload(shop.id);
    await again(shop.id, `/${(await revisionOf(shop.id, 2)).id}/rollback`);
    const failed = await untilRevision(shop.id, 4, ({ status }) => status === 'DEPLOY_FAILED');
    expect(failed.reason).toBe('ImageNotFound');
    expect(failed.message).toContain(`${image}@${second} does not exist`);
    const after = await workload(shop.id);
    expect(after.metadata.generation).toBe(before.metadata.generation);
    const { body } = await berth.call('GET', path(shop.id));
    expect(body).toMatchObject({
      status: 'READY',
      active_revision_id: (await revisionOf(shop.id, 3)).id,
    });
  });
});

test('calls a private registry with the Secrets of image_pull_secrets, and uses the tag without them', async () => {
  const image = `${guarded.host}/team/secret:1`;
  const dockerConfig = writeDockerConfig(join(folder, 'guarded'), { [guarded.host]: PULLER });
  const { digest } = await pushBaseImage('static', guarded.host, {
    repository: 'team/secret:1',
    dockerConfig,
  });
  await kubectlAsAdmin([
    `--namespace=${berth.namespace}`,
    'create',
    'secret',
    'generic',
    'guarded',
    '--type=kubernetes.io/dockerconfigjson',
    `--from-file=.dockerconfigjson=${join(dockerConfig, 'config.json')}`,
  ]);
  const secrets = { resource_spec: { image_pull_secrets: [{ name: 'guarded' }] } };
  const [with_, without] = await Promise.all([
    berth.create(smallDeployment('with', { image, source_config: secrets })),
    berth.create(alone('without', image)),
  ]);
  await Promise.all([berth.ready(with_.id), berth.ready(without.id)]);
  expect(imageOf(await workload(with_.id))).toBe(`${image}@${digest}`);
  expect(imageOf(await workload(without.id))).toBe(image);
  const unresolved = await berth.until(
    without.id,
    'unresolved',
    (now) => imageReady(now) === 'ImageUnresolved',
  );
  const message = unresolved.conditions.find(({ type }) => type === 'ImageReady')?.message;
  expect(message).toMatch(/denies access \(status 401\)$/);
  expect(await revisionOf(without.id, 1)).toMatchObject({ status: 'DEPLOYED', resolved_image: null });
});

test('delays only the deployments of a registry that hangs, and only for the timeout', async () => {
  await tag('team/quick:1', 'first');
  const image = `${silent.host}/team/slow`;
  const slow = await Promise.all(
    Array.from({ length: 12 }, (_, n) => berth.create(alone(`slow-${n}`, `${image}:${n}`))),
  );
  const quick = await berth.create(alone('quick', `${registry.host}/team/quick:1`));
  await berth.ready(quick.id);
  expect(imageOf(await workload(quick.id))).toContain(first);
  for (const { id } of slow) {
    const ready = await berth.ready(id);
    expect(imageReady(ready)).toBe('ImageUnresolved');
  }
  // The registry received no request for images that waited behind others. An image causes a HEAD and a GET.
  expect(new Set(silent.asked).size).toBeLessThan(slow.length);
  const [one] = slow;
  const events = await waitFor(
    'the event',
    async () => {
      const found = await eventsOf(one?.id ?? '', 'ImageUnresolved');
      return found.length > 0 ? found : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );
  expect(events).toHaveLength(1);
  expect(events[0]?.message).toContain(`${silent.host} did not respond within 2 s`);
});

test('runs a revision with one digest when the operator is killed while the registry responds', async () => {
  const image = `${scripted.host}/team/killed:1`;
  const digests = ['a', 'b', 'c'].map((character) => `sha256:${character.repeat(64)}`);
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  scripted.answer = (_, response) => {
    response.setHeader('docker-content-digest', digests[0] ?? '').end(() => isAsked());
  };
  const created = await berth.create(alone('killed', image));
  await asked;
  await berth.process().stop('SIGKILL');
  scripted.answer = (_, response) => response.setHeader('docker-content-digest', digests[1] ?? '').end();
  await berth.restart();
  await berth.ready(created.id);
  const pinned = imageOf(await workload(created.id)) ?? '';
  expect([`${image}@${digests[0]}`, `${image}@${digests[1]}`]).toContain(pinned);
  await resolved(created.id, 1, pinned);

  scripted.answer = (_, response) => response.setHeader('docker-content-digest', digests[2] ?? '').end();
  const patched = await berth.call('PATCH', path(created.id), {
    source_config: { resource_spec: { labels: { team: 'killed' } } },
  });
  const { generation } = patched.body;
  await berth.until(
    created.id,
    'relabelled',
    (now) => isReady(now) && now.observed_generation === generation,
  );
  expect(imageOf(await workload(created.id))).toBe(pinned);
  expect(await revisionsOf(created.id)).toMatchObject([{ number: 1, resolved_image: pinned }]);
});
