/**
 * The platform's registry with real components: a registry that sends its clients to this hub for tokens, an
 * unmodified crane, and a whole Berth that deploys the pushed images.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createRegistryAuthority } from '../../../src/hub/registry/authority.ts';
import { parseSigningKeys } from '../../../src/hub/registry/signing-key.ts';
import { type LocalRegistry, startRegistry, type TokenAuth } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS, resolveImageTools } from '../../cluster/images/tools.ts';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import { runBerth } from '../../installation/berth-process.ts';
import {
  type Answer,
  type DeploymentAnswer,
  type KubeItem,
  startWholeBerth,
  type WholeBerth,
} from '../harness/berth.ts';
import { type Crane, type Cranes, startCranes, tarOf } from '../harness/crane.ts';
import { kubectlAsAdmin } from '../harness/environment.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

interface PushToken {
  registry_url: string;
  image_uri: string;
  username: string;
  token: string;
  expires_at: string;
}
/** What `berth keys registry -o json` prints. */
interface MadeKey {
  signing_key: string | null;
  jwks: { keys: object[] };
  config: string;
}

let berth: WholeBerth;
let registry: LocalRegistry;
let cranes: Cranes;
let folder: string;
let key: MadeKey;
/** Deployments of the same tenant. */
let shop: DeploymentAnswer;
let search: DeploymentAnswer;
let settings: Record<string, string>;

const keysRegistry = async (more: Record<string, string>, ...args: string[]): Promise<MadeKey> =>
  JSON.parse(await runBerth(folder, ['keys', 'registry', '-o', 'json', ...args], { ...settings, ...more }));

/** The registry is configured only with the output of the command. */
function authOf({ config, jwks }: MadeKey): TokenAuth {
  const { realm, service, issuer, signingalgorithms } = (
    parse(config) as { auth: { token: TokenAuth & { signingalgorithms: string[] } } }
  ).auth.token;
  return { realm, service, issuer, signingAlgorithms: signingalgorithms, jwks: JSON.stringify(jwks) };
}

const internal = (name: string, more: object = {}) => ({
  name,
  source: 'internal_image',
  source_config: {},
  source_revision_config: {},
  secrets: [],
  ...more,
});
const pushToken = (id: string) => berth.call<PushToken>('POST', `/v2/deployments/${id}/push-token`);
const patchImage = (id: string, image_uri: string): Promise<Answer<DeploymentAnswer>> =>
  berth.call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri } });

async function loggedIn(id: string): Promise<{ crane: Crane; image: string; token: PushToken }> {
  const { body: token } = await pushToken(id);
  const crane = cranes.client();
  await crane.login(token.registry_url, token.username, token.token);
  return { crane, image: token.image_uri, token };
}

interface StoredSecret {
  type: string;
  metadata: { name: string; uid: string };
  data: Record<string, string>;
}
const appOf = (image: string) => image.split('/').at(-1) ?? '';
const pullSecret = (image: string) => berth.get<StoredSecret>('secret', `${appOf(image)}-pull`);
const configOf = (secret: StoredSecret) =>
  Buffer.from(secret.data['.dockerconfigjson'] ?? '', 'base64').toString();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-registry-test-'));
  const [port = 0, registryPort = 0] = await freePorts(2);
  settings = {
    BERTH_REGISTRY: `127.0.0.1:${registryPort}`,
    // A host name, because crane sends no credentials to a loopback address that a registry names.
    BERTH_PUBLIC_URL: `http://localhost:${port}`,
  };
  key = await keysRegistry({});
  [registry, cranes] = await Promise.all([
    startRegistry({ port: registryPort, auth: authOf(key) }),
    startCranes(),
  ]);
  settings['BERTH_REGISTRY_SIGNING_KEY'] = (key.signing_key ?? '').replaceAll('\n', '\\n');
  berth = await startWholeBerth('registry', { settings: { ...settings, BERTH_PORT: String(port) } });
  shop = await berth.create(internal('Shop'));
  search = await berth.create(internal('search'));
}, FIRST_TIME_MS);
afterAll(async () => {
  await berth?.stop();
  await registry?.stop();
  cranes?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a push token', () => {
  it('is short-lived, limited to the deployment’s own repository, and recorded in an event without its value', async () => {
    const before = Date.now();
    const { status, body } = await pushToken(shop.id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      registry_url: registry.host,
      image_uri: expect.stringMatching(new RegExp(`^${registry.host}/${berth.tenantId}/shop-[0-9a-f]{8}$`)),
    });
    expect(Date.parse(body.expires_at)).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect(Date.parse(body.expires_at)).toBeGreaterThanOrEqual(before + 3_599_000);
    const events = await berth.call<{ resources: { reason: string; actor: { kind: string } }[] }>(
      'GET',
      `/v2/deployments/${shop.id}/events`,
    );
    expect(events.body.resources[0]).toMatchObject({
      reason: 'PushTokenIssued',
      actor: { kind: 'api_key', name: 'test' },
    });
    expect(JSON.stringify(events.body)).not.toContain(body.token);
  });

  it('is denied for other sources, with an error that names the field', async () => {
    const other = await berth.create({
      ...internal('external'),
      source: 'external_image',
      source_revision_config: { image_uri: 'registry.example/shop/web:1' },
    });
    expect(await pushToken(other.id)).toMatchObject({
      status: 400,
      body: { detail: [{ loc: ['body', 'source'] }] },
    });
  });
});

describe('a pushed image', () => {
  it('leaves its deployment UNUSED until a revision uses it, and is pulled with the Secret of the pods', async () => {
    const { crane, image } = await loggedIn(shop.id);
    expect((await berth.call('GET', `/v2/deployments/${shop.id}`)).body.status).toBe('UNUSED');
    const digest = await crane.push(`${image}:1`, 'one');
    expect((await berth.call('GET', `/v2/deployments/${shop.id}`)).body.latest_revision_id).toBeNull();

    expect((await patchImage(shop.id, `${image}:1`)).status).toBe(200);
    await berth.ready(shop.id);
    const pods = await berth.get(
      'pods',
      '-l',
      `berth.dev/deployment-id=${shop.id},app.kubernetes.io/component=api`,
    );
    expect(pods.items.length).toBeGreaterThan(0);
    for (const pod of pods.items)
      expect(pod.spec['imagePullSecrets']).toEqual([{ name: `${appOf(image)}-pull` }]);

    const secret = await pullSecret(image);
    expect(secret.type).toBe('kubernetes.io/dockerconfigjson');
    const cluster = cranes.client(configOf(secret));
    expect(await cluster.run('digest', `${image}:1`)).toBe(digest);
    await expect(cluster.run('export', `${image}:1`, '-')).resolves.toContain('one');
    await expect(cluster.push(`${image}:1`, 'from the cluster')).rejects.toThrow(/UNAUTHORIZED|DENIED|401/);
  });

  it('is pulled with a Secret that is recreated after a deletion', async () => {
    const { image_uri: image } = (await pushToken(shop.id)).body;
    const { metadata, data } = await pullSecret(image);
    await kubectlAsAdmin(['delete', 'secret', '-n', berth.namespace, metadata.name]);
    const names = async () => (await berth.get<{ items: StoredSecret[] }>('secrets')).items;
    const back = await waitFor(
      'the Secret to come back',
      async () => (await names()).find(({ metadata: { name } }) => name === metadata.name),
      { timeoutMs: 60_000, intervalMs: 200 },
    );
    expect(back.metadata.uid).not.toBe(metadata.uid);
    expect(back.data).toEqual(data);
    await berth.ready(shop.id);
  });

  it('is deployed again under the same tag by a new revision', async () => {
    const { crane, image } = await loggedIn(shop.id);
    await crane.push(`${image}:1`, 'two');
    const { latest_revision_id: former } = (await berth.call('GET', `/v2/deployments/${shop.id}`)).body;
    expect((await patchImage(shop.id, `${image}:1`)).body.latest_revision_id).toBe(former);
    expect((await berth.call('POST', `/v2/deployments/${shop.id}/revisions`)).status).toBe(201);
    const after = await berth.ready(shop.id);
    expect(after.latest_revision_id).not.toBe(former);
  });
});

it('the commands of docs/registry.md have the described effects', async () => {
  const page = readFileSync(join(root, 'docs/registry.md'), 'utf8');
  const [, block = ''] = /^```sh push\n([\s\S]*?)^```$/m.exec(page) ?? [];
  expect(block).toContain('push-token');
  const work = mkdtempSync(join(folder, 'tour-'));
  writeFileSync(join(work, 'layer.tar'), tarOf('index.html', 'tour'));
  const { crane } = await resolveImageTools(['crane']);
  const functions = 'berth() { "$NODE" "$MAIN" "$@"; }\ncrane() { "$CRANE" "$@"; }\nnode() { "$NODE" "$@"; }';
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `${functions}\n${block}`], {
    cwd: work,
    env: {
      PATH: process.env['PATH'],
      HOME: work,
      NODE: process.execPath,
      MAIN: join(root, 'src/main.ts'),
      CRANE: crane,
      BERTH_URL: berth.process().url,
      BERTH_API_KEY: berth.apiKey,
    },
  });
  const { body } = await berth.call<{ resources: DeploymentAnswer[] }>('GET', '/v2/deployments?name=pushed');
  expect(body.resources.map(({ status }) => status)).toEqual(['READY']);
});

describe('the registry', () => {
  const REFUSED = /UNAUTHORIZED|DENIED|401/;
  let image: string;
  let owner: Crane;
  let other: Crane;
  beforeAll(async () => {
    ({ crane: owner, image } = await loggedIn(shop.id));
    await owner.push(`${image}:kept`, 'kept');
    ({ crane: other } = await loggedIn(search.id));
  });

  it('rejects the token of another deployment, to push and to pull', async () => {
    expect(await other.refused('digest', `${image}:kept`)).toMatch(REFUSED);
    await expect(other.push(`${image}:kept`, 'foreign')).rejects.toThrow(REFUSED);
  });

  it('rejects the token of another tenant, to push, to pull and to copy', async () => {
    const made = await runBerth(
      berth.stateDir,
      ['keys', 'create', '--tenant', 'other-tenant', '--name', 'other-key', '-o', 'json'],
      berth.settings,
    );
    const { api_key: apiKey } = JSON.parse(made) as { api_key: string };
    const as = (path: string, body?: object) =>
      fetch(new URL(path, berth.process().url), {
        method: 'POST',
        headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
    expect((await as(`/v2/deployments/${shop.id}/push-token`)).status).toBe(404);
    const theirs = (await (await as('/v2/deployments', internal('theirs'))).json()) as DeploymentAnswer;
    const token = (await (await as(`/v2/deployments/${theirs.id}/push-token`)).json()) as PushToken;
    const otherTenant = cranes.client();
    await otherTenant.login(token.registry_url, token.username, token.token);
    await otherTenant.push(`${token.image_uri}:1`, 'own');
    expect(await otherTenant.refused('digest', `${image}:kept`)).toMatch(REFUSED);
    await expect(otherTenant.push(`${image}:kept`, 'foreign')).rejects.toThrow(REFUSED);
    expect(await otherTenant.refused('copy', `${image}:kept`, `${token.image_uri}:stolen`)).toMatch(REFUSED);
  });

  it('rejects an unknown repository, a deeper one, the catalog, and deletion', async () => {
    await expect(owner.push(`${registry.host}/somewhere/else:1`, 'x')).rejects.toThrow(REFUSED);
    await expect(owner.push(`${image}/deeper:1`, 'x')).rejects.toThrow(REFUSED);
    expect(await owner.refused('catalog', registry.host)).toMatch(REFUSED);
    expect(await owner.refused('delete', `${image}:kept`)).toMatch(REFUSED);
    await expect(owner.run('digest', `${image}:kept`)).resolves.toMatch(/^sha256:/);
  });

  it('rejects anonymous access, an expired token, a token with a foreign key, and a changed token', async () => {
    const keys = parseSigningKeys(key.signing_key ?? '');
    const strange = await keysRegistry({ BERTH_REGISTRY_SIGNING_KEY: '' });
    const deployment = { id: shop.id, tenantId: berth.tenantId, appName: appOf(image) };
    const authority = createRegistryAuthority(registry.host, keys);
    const forger = createRegistryAuthority(registry.host, parseSigningKeys(strange.signing_key ?? ''));
    const valid = authority.credential('push', deployment, new Date(Date.now() + 60_000));
    const past = authority.credential('push', deployment, new Date(Date.now() - 1000));
    const forged = forger.credential('push', deployment, new Date(Date.now() + 60_000));
    const changed = { ...valid, token: valid.token.replace(/.\./, '_.') };
    const using = (credential: typeof valid) => cranes.client(authority.dockerConfig(credential));
    await expect(using(valid).run('digest', `${image}:kept`)).resolves.toMatch(/^sha256:/);
    for (const client of [cranes.client(), using(past), using(forged), using(changed)])
      expect(await client.refused('digest', `${image}:kept`)).toMatch(REFUSED);
  });

  it('gets no token from the hub for the name of another registry', async () => {
    const url = new URL('/v2/registry/token?service=other.example', berth.process().url);
    const { token } = (await pushToken(shop.id)).body;
    const authorization = `Basic ${Buffer.from(`berth:${token}`).toString('base64')}`;
    const answer = await fetch(url, { headers: { authorization } });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: [{ loc: ['query', 'service'] }] });
    expect((await fetch(url)).headers.get('www-authenticate')).toBe('Basic realm="berth"');
  });
});

describe('the API', () => {
  const IMAGE = ['body', 'source_revision_config', 'image_uri'];
  const refusal = (loc: unknown[]) => ({
    status: 400,
    body: { detail: [expect.objectContaining({ loc, type: expect.stringMatching(/^foreign_/) })] },
  });

  it('rejects images outside the deployment’s own repository, and names the field', async () => {
    const { image_uri: own } = (await pushToken(shop.id)).body;
    const { image_uri: others } = (await pushToken(search.id)).body;
    const foreign = [
      'docker.io/library/nginx:1',
      `${registry.host}/somewhere/else:1`,
      `${others}:1`,
      `${own}/deeper:1`,
    ];
    for (const image of [...foreign, own.replace(berth.tenantId, '01890000-0000-7000-8000-00000000dead')])
      expect(await patchImage(shop.id, image), image).toMatchObject(refusal(IMAGE));
    expect((await patchImage(shop.id, `${own}:1`)).status).toBe(200);
  });

  it('rejects images of the registry without a repository, and in other containers or sources', async () => {
    const { image_uri: others } = (await pushToken(search.id)).body;
    const image = { source_revision_config: { image_uri: `${others}:1` } };
    const create = (body: object) => berth.call('POST', '/v2/deployments', body);
    expect(await create(internal('a', image))).toMatchObject(refusal(IMAGE));
    expect(await create(internal('a', { ...image, source: 'external_image' }))).toMatchObject(refusal(IMAGE));
    const sidecars = [{ name: 'helper', image: `${others}:1` }];
    expect(
      await berth.call('PATCH', `/v2/deployments/${shop.id}`, {
        source_config: { resource_spec: { sidecars } },
      }),
    ).toMatchObject(refusal(['body', 'source_config', 'resource_spec', 'sidecars', 0, 'image']));
  });
});

describe('the signing key', () => {
  it('changes without interruption: both keys are accepted, Secrets are renewed, no pod is replaced', async () => {
    const { image, token } = await loggedIn(shop.id);
    await berth.ready(shop.id);
    const before = await pullSecret(image);
    const podUids = async () =>
      (await berth.get('pods', '-l', `berth.dev/deployment-id=${shop.id}`)).items.map(
        ({ metadata }: KubeItem) => metadata.uid,
      );
    const pods = await podUids();

    const next = await keysRegistry({});
    expect(next.jwks.keys).toHaveLength(2);
    await registry.halt();
    await registry.start(authOf(next));
    await berth.process().stop();
    const both = `${next.signing_key}${key.signing_key}`.replaceAll('\n', '\\n');
    const changed = { ...berth.settings, BERTH_REGISTRY_SIGNING_KEY: both };
    await berth.startRole('all', 'berth', { BERTH_REGISTRY_SIGNING_KEY: both });
    const rotate = async (...args: string[]) =>
      JSON.parse(await runBerth(berth.stateDir, ['keys', 'rotate-registry', '-o', 'json', ...args], changed));
    expect(await rotate()).toMatchObject({ redelivered: 4 });
    await waitFor(
      'every Secret to be delivered',
      async () => (await rotate('--dry-run')).pending === 0 || undefined,
      {
        timeoutMs: 60_000,
      },
    );

    const after = await pullSecret(image);
    expect(configOf(after)).not.toBe(configOf(before));
    for (const config of [configOf(before), configOf(after)])
      await expect(cranes.client(config).run('digest', `${image}:kept`)).resolves.toMatch(/^sha256:/);
    const pushing = cranes.client();
    await pushing.login(token.registry_url, token.username, token.token);
    await pushing.push(`${image}:still`, 'x');
    expect(await podUids()).toEqual(pods);
  });
});

it('writes no credential to a log, an event or a custom resource', async () => {
  const credential = /berth-registry\.[\w-]|PRIVATE KEY/;
  expect(configOf(await pullSecret((await pushToken(shop.id)).body.image_uri))).toMatch(credential);
  const texts = [
    readFileSync(berth.process().logPath, 'utf8'),
    JSON.stringify((await berth.call('GET', `/v2/deployments/${shop.id}/events?limit=100`)).body),
    JSON.stringify((await berth.call('GET', `/v2/deployments/${shop.id}`)).body),
    JSON.stringify(await berth.get('mdep,events,deployments,pods,controllerrevisions.apps')),
  ];
  for (const text of texts) {
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toMatch(credential);
  }
});

describe('a deleted deployment', () => {
  it('is removed with its credentials and its Secret', async () => {
    const { crane, image } = await loggedIn(shop.id);
    const cluster = cranes.client(configOf(await pullSecret(image)));
    expect((await berth.call('DELETE', `/v2/deployments/${shop.id}`)).status).toBe(204);
    expect(await crane.refused('digest', `${image}:kept`)).toMatch(/UNAUTHORIZED|401/);
    expect(await cluster.refused('digest', `${image}:kept`)).toMatch(/UNAUTHORIZED|401/);
    expect((await pushToken(shop.id)).status).toBeGreaterThanOrEqual(404);
    await waitFor(
      'the deployment to be gone',
      async () => (await berth.call('GET', `/v2/deployments/${shop.id}`)).status === 404 || undefined,
      { timeoutMs: 60_000 },
    );
    const left = await kubectlAsAdmin(['get', 'secrets', '-n', berth.namespace, '-o', 'name']);
    expect(left).not.toContain(appOf(image));
  });
});
