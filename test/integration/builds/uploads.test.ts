/**
 * Uploads of folders over HTTP, with a real registry that asks this hub for tokens: what is stored, what is rejected, what is
 * built once, and the first step of the build with the stored artifact.
 */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createRegistryCleaning } from '../../../src/app/registry-cleanup.ts';
import { createSourceStore } from '../../../src/app/source-store.ts';
import { uploadStep } from '../../../src/cluster/builder/upload-step.ts';
import type { ApplyWork } from '../../../src/contract/protocol/work-protocol.ts';
import { resolvePolicy } from '../../../src/domain/policy/policy.ts';
import type { ApiDeps } from '../../../src/hub/api/core/deps.ts';
import { createRegistryAuthority } from '../../../src/hub/registry/authority.ts';
import { generateSigningKey, keySet, parseSigningKeys } from '../../../src/hub/registry/signing-key.ts';
import {
  beginUpload,
  enqueueUnusedUploads,
  finishUpload,
  recordMissing,
} from '../../../src/hub/store/builds/uploads.ts';
import { type ArchiveFile, gzipped } from '../../archives.ts';
import { type LocalRegistry, startRegistry } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { freePorts } from '../../cluster/ports.ts';
import { waitFor } from '../../cluster/wait.ts';
import {
  type ApiFixture,
  type Client,
  create,
  type Deployment,
  type Issue,
  startApi,
} from '../harness/api.ts';
import { type HubFixture, observedReport, protocolClient } from '../harness/hub.ts';
import { recordingLogger } from '../harness/store.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const KEPT = 5;
const keys = parseSigningKeys(generateSigningKey());
const DEFAULTS = resolvePolicy('self_hosted');
const policy = {
  ...DEFAULTS,
  uploads: { packed_mb: 2, unpacked_mb: 8, entries: 100, path_bytes: 255, at_once: 2 },
  tenant_counts: { ...DEFAULTS.tenant_counts, revision_secrets: KEPT },
};
/** Short limits, so that the tests of them are short. */
const times = { requestTimeoutMs: 1_000, uploadIdleMs: 1_500, uploadWaitMs: 300 };

let registry: LocalRegistry;
let authority: ReturnType<typeof createRegistryAuthority>;
let api: ApiFixture;
let url: string;
let listener: ReturnType<typeof protocolClient>;
let folder: string;
let client: Client;

const start = async (deps: Partial<ApiDeps>, port = 0, store?: ApiFixture['store']) => {
  const options = { deps: { policy, ...times, ...deps }, ...(store === undefined ? {} : { store }) };
  const started = await startApi(options);
  return { api: started, url: await started.app.listen({ host: '127.0.0.1', port }) };
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-uploads-'));
  const [port = 0, registryPort = 0] = await freePorts(2);
  const host = `127.0.0.1:${registryPort}`;
  authority = createRegistryAuthority(host, keys);
  registry = await startRegistry({
    port: registryPort,
    auth: {
      realm: `http://127.0.0.1:${port}/v2/registry/token`,
      service: host,
      issuer: 'berth',
      jwks: JSON.stringify(keySet(keys)),
      signingAlgorithms: ['ES256'],
    },
  });
  const sourceStore = createSourceStore(authority, { insecure: true });
  ({ api, url } = await start({ registry: host, registryAuthority: authority, sourceStore }, port));
  const platform = await api.client(null, ['listeners:run']);
  const call = (method: 'GET' | 'PUT' | 'POST', path: string, body?: object) =>
    platform.call(method, path, body);
  listener = protocolClient({ call } as unknown as HubFixture, 'a');
  await listener.lease();
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([api?.stop(), registry?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  client = await api.tenant();
});

interface Revision {
  id: string;
  number: number;
  status: string;
  upload?: { digest: string };
  build: object | null;
  resolved_image: string | null;
  source_revision_config: Record<string, unknown>;
}

const folderOf = (text: string): ArchiveFile[] => [
  { name: 'package.json', content: '{"scripts": {"start": "node server.js"}}' },
  { name: 'server.js', content: `// ${text}` },
];
const hashOf = (packed: Buffer) => createHash('sha256').update(packed).digest();
const digestOf = (packed: Buffer) => `sha256:${hashOf(packed).toString('hex')}`;
const headersOf = (packed: Buffer, { key } = client) => ({
  'x-api-key': key,
  'content-type': 'application/gzip',
  'content-digest': `sha-256=:${hashOf(packed).toString('base64')}:`,
});

async function upload(
  { id }: Deployment,
  packed: Buffer,
  { query = '', headers = {}, of = client, at = url } = {},
): Promise<{ status: number; headers: Headers; body: Revision & { detail: string | Issue[] } }> {
  const response = await fetch(`${at}/v2/deployments/${id}/sources${query}`, {
    method: 'POST',
    headers: { ...headersOf(packed, of), ...headers },
    body: new Uint8Array(packed),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as never };
}

const internal = (of = client) => create(of, { source: 'internal_image', source_revision_config: {} });
const issuesOf = async (packed: Buffer, deployment?: Deployment) => {
  const { status, body } = await upload(deployment ?? (await internal()), packed);
  return [status, (body.detail as Issue[]).map(({ loc, type }) => [loc, type])];
};

/** Sends a request without its end. */
function open(
  deployment: Deployment,
  packed: Buffer,
  sent: number,
  { at = url, headers = headersOf(packed) as Record<string, string> } = {},
) {
  const request = httpRequest(`${at}/v2/deployments/${deployment.id}/sources`, {
    method: 'POST',
    headers: { ...headers, 'content-length': packed.length },
    agent: false,
  });
  const response = new Promise<{ status: number }>((resolve, reject) => {
    request.on('error', reject).on('response', (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode ?? 0 });
    });
  });
  response.catch(() => undefined);
  request.write(packed.subarray(0, sent));
  return { request, response, end: () => request.end(packed.subarray(sent)) };
}

const rows = ({ id }: Deployment) =>
  api.store.sql<{ digest: string; stored: boolean }>(
    'SELECT digest, stored FROM uploads WHERE deployment_id = $1 ORDER BY sent_at',
    [id],
  );
/** Waits until an upload is received. */
const begun = (deployment: Deployment) =>
  waitFor('the upload to begin', async () => (await rows(deployment)).length === 1, { timeoutMs: 20_000 });
const owner = async ({ id }: Deployment) => {
  const [row] = await api.store.sql<{ tenantId: string; appName: string }>(
    'SELECT tenant_id AS "tenantId", app_name AS "appName" FROM deployments WHERE id = $1',
    [id],
  );
  return { id, tenantId: '', appName: '', ...row };
};

/** A call of the registry with a token of the hub. */
async function inRegistry(
  deployment: Deployment,
  path: string,
  { method = 'GET', of = owner(deployment) } = {},
) {
  const whose = await of;
  const repository = authority.sourceRepositoryOf(whose).slice(registry.host.length + 1);
  const token = await authority.sourceToken(whose, new Date());
  return fetch(`${registry.url}/v2/${repository}/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
}
const tagsOf = async (deployment: Deployment, of = owner(deployment)): Promise<string[]> => {
  const response = await inRegistry(deployment, 'tags/list', { of });
  return response.status === 404 ? [] : (((await response.json()) as { tags: string[] | null }).tags ?? []);
};

async function itemOf({ id }: Deployment): Promise<ApplyWork> {
  await api.store.sql('UPDATE deployments SET next_attempt_at = now() WHERE id = $1', [id]);
  const { items } = (await listener.work()).body;
  return items.find(({ deployment_id }) => deployment_id === id) as ApplyWork;
}

/** Reports the end of the build of a revision. */
async function reportBuilt(deployment: Deployment, revision: Revision, build: object = {}): Promise<void> {
  const whose = await owner(deployment);
  const image = `${authority.repositoryOf(whose)}@sha256:${String(revision.number).repeat(64).slice(0, 64)}`;
  const { namespace } = await itemOf(deployment);
  const about = { id: deployment.id, appName: whose.appName, namespace, generation: 1 };
  const done = { revisionId: revision.id, number: revision.number, phase: 'Succeeded', image, ...build };
  const answer = await listener.report([observedReport(about, { build: done })]);
  expect(answer.status).toBe(200);
}
const revisionOf = async (deployment: Deployment, { id }: Revision) =>
  (await client.call<Revision>('GET', `/v2/deployments/${deployment.id}/revisions/${id}`)).body;

describe('an uploaded folder', () => {
  test('is stored under its digest, and its build unpacks exactly this folder', async () => {
    const deployment = await internal();
    const packed = await gzipped([...folderOf('one'), { name: 'Procfile', content: 'worker: node w.js\n' }]);
    const { status, headers, body } = await upload(deployment, packed, { query: '?install_command=npm%20i' });
    expect([status, body.status, body.upload]).toEqual([
      201,
      'AWAITING_BUILD',
      { digest: digestOf(packed), install_command: 'npm i' },
    ]);
    expect(headers.get('location')).toBe(`/v2/deployments/${deployment.id}/revisions/${body.id}`);
    expect(headers.get('etag')).toBe('"2"');
    const blob = await inRegistry(deployment, `blobs/${digestOf(packed)}`);
    expect(Buffer.from(await blob.arrayBuffer()).equals(packed)).toBe(true);
    const manifest = await inRegistry(deployment, `manifests/${digestOf(packed).replace(':', '-')}`);
    expect(await manifest.json()).toMatchObject({ artifactType: 'application/vnd.berth.source.v1' });

    const { spec, build_secret: secret } = await itemOf(deployment);
    const { upload: source } = spec.build ?? {};
    expect(source).toEqual({
      digest: digestOf(packed),
      repository: authority.sourceRepositoryOf(await owner(deployment)),
    });
    expect(spec.revision).toMatchObject({ uploadDigest: digestOf(packed) });
    const credentials = join(folder, 'credentials');
    mkdirSync(credentials);
    for (const [name, value] of Object.entries(secret?.data ?? {}))
      writeFileSync(join(credentials, name), value);
    const workspace = join(folder, 'workspace');
    mkdirSync(workspace);
    const lines: string[] = [];
    const request = {
      repository: source?.repository ?? '',
      digest: source?.digest ?? '',
      installCommand: spec.build?.installCommand,
      workspace,
      credentials,
      insecure: true,
      limits: {
        packedBytes: 2 ** 21,
        unpackedBytes: 2 ** 23,
        entries: 100,
        pathBytes: 255,
        timeoutMs: 30_000,
      },
    };
    const settings = {
      allowPrivate: false,
      caFile: null,
      baseImages: { node: 'node:{version}', python: 'python:{version}' },
      path: '',
    };
    await uploadStep(request, settings, (line) => lines.push(line));
    expect(readFileSync(join(workspace, 'context/server.js'), 'utf8')).toBe('// one');
    expect(readFileSync(join(workspace, 'dockerfile/Dockerfile'), 'utf8')).toContain('CMD ["npm","start"]');
    expect(readFileSync(join(workspace, 'procfile.json'), 'utf8')).toBe('{"worker":"node w.js"}');
    expect(lines.join('\n')).toContain('detected node 24 by package.json');

    // The credentials of the other step, and those of clients, do not read it. Neither does the wrong digest.
    const other = secret?.data['config.json'] ?? '';
    writeFileSync(join(credentials, 'source-config.json'), other);
    await expect(uploadStep(request, settings, () => undefined)).rejects.toMatchObject({
      reason: 'RegistryRefused',
    });
    writeFileSync(join(credentials, 'source-config.json'), secret?.data['source-config.json'] ?? '');
    const missing = { ...request, digest: `sha256:${'0'.repeat(64)}` };
    await expect(uploadStep(missing, settings, () => undefined)).rejects.toMatchObject({
      reason: 'UploadMissing',
    });
    const smaller = { ...request, limits: { ...request.limits, entries: 1 } };
    await expect(uploadStep(smaller, settings, () => undefined)).rejects.toMatchObject({
      reason: 'BuildTooLarge',
    });
    expect(existsSync(join(workspace, 'dockerfile'))).toBe(false);
  });

  test('is built once when it is sent again during and after its build, and its image is used again later', async () => {
    const deployment = await internal();
    const [one, two] = [await gzipped(folderOf('1')), await gzipped(folderOf('2'))];
    const first = (await upload(deployment, one)).body;
    const again = await upload(deployment, one);
    expect([again.status, again.body.id]).toEqual([200, first.id]);
    await reportBuilt(deployment, first, { procfile: { web: 'node a.js' } });
    expect((await upload(deployment, one)).body.id).toBe(first.id);
    expect(await revisionOf(deployment, first)).toMatchObject({
      status: 'QUEUED',
      source_revision_config: { repo_commit_sha: null, image_uri: expect.stringContaining('@sha256:') },
      effective_commands: { api: { source: 'procfile' } },
    });
    // Other settings are another build.
    const other = await upload(deployment, one, { query: '?build_command=make' });
    expect([other.status, other.body.status]).toEqual([201, 'AWAITING_BUILD']);
    expect((await upload(deployment, two)).body).toMatchObject({ number: 3, status: 'AWAITING_BUILD' });
    const back = await upload(deployment, one);
    expect([back.status, back.body]).toMatchObject([
      201,
      { number: 4, status: 'QUEUED', build: null, effective_commands: { api: { source: 'procfile' } } },
    ]);
    expect(back.body.resolved_image).toBe((await revisionOf(deployment, first)).resolved_image);
  });

  test('is built again when its build failed, also without the folder', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('failed'));
    const first = (await upload(deployment, packed)).body;
    await reportBuilt(deployment, first, {
      phase: 'Failed',
      reason: 'BuildFailed',
      message: 'no',
      image: undefined,
    });
    const redeploy = `/v2/deployments/${deployment.id}/revisions/${first.id}/redeploy`;
    const second = await client.call<Revision>('POST', redeploy, {});
    expect(second.body).toMatchObject({ status: 'AWAITING_BUILD', upload: { digest: digestOf(packed) } });
    expect((await itemOf(deployment)).spec.build?.upload?.digest).toBe(digestOf(packed));
    await api.store.sql('DELETE FROM uploads WHERE deployment_id = $1', [deployment.id]);
    const gone = await client.call<{ detail: string }>('POST', redeploy, {});
    expect([gone.status, gone.body.detail]).toEqual([
      409,
      expect.stringContaining('deploy the folder again'),
    ]);
    expect((await upload(deployment, packed)).status).toBe(200);
  });

  test('is not needed for a redeploy after a rollback, because the image is used again', async () => {
    const deployment = await internal();
    const first = (await upload(deployment, await gzipped(folderOf('back')))).body;
    await reportBuilt(deployment, first);
    await upload(deployment, await gzipped(folderOf('forth')));
    await api.store.sql('DELETE FROM uploads WHERE deployment_id = $1', [deployment.id]);
    const { resolved_image: image } = await revisionOf(deployment, first);
    const path = `/v2/deployments/${deployment.id}/revisions`;
    for (const each of [`${path}/${first.id}/rollback`, path])
      expect(await client.call('POST', each, {})).toMatchObject({
        status: 201,
        body: { status: 'QUEUED', build: null, resolved_image: image, upload: first.upload },
      });
  });

  test('is stored again when the registry has lost it', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('lost'));
    const first = (await upload(deployment, packed)).body;
    await reportBuilt(deployment, first, { phase: 'Failed', reason: 'UploadMissing', image: undefined });
    const tag = digestOf(packed).replace(':', '-');
    const manifest = await inRegistry(deployment, `manifests/${tag}`);
    const digest = manifest.headers.get('docker-content-digest');
    expect((await inRegistry(deployment, `manifests/${digest}`, { method: 'DELETE' })).status).toBe(202);
    expect((await upload(deployment, packed)).body).toMatchObject({ number: 2, status: 'AWAITING_BUILD' });
    expect(await tagsOf(deployment)).toEqual([tag]);
    expect(await rows(deployment)).toMatchObject([{ stored: true }]);
  });

  test('stays stored when its loss is recorded after it was stored again', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('lost late'));
    await upload(deployment, packed);
    const place = { tenantId: client.tenantId, deploymentId: deployment.id, digest: digestOf(packed) };
    const tenant = api.store.database.forTenant(client.tenantId);
    const begin = async () =>
      (await tenant.transaction((transaction) => beginUpload(transaction, place, 1)))?.begunAt ?? '';
    const late = await begin();
    await tenant.transaction((transaction) => finishUpload(transaction, place, 1));
    await tenant.transaction((transaction) => recordMissing(transaction, place, late));
    expect(await rows(deployment)).toMatchObject([{ stored: true }]);
    const latest = await begin();
    await tenant.transaction((transaction) => recordMissing(transaction, place, latest));
    expect(await rows(deployment)).toMatchObject([{ stored: false }]);
  });

  test('is replaced by an image of the client, and kept by other changes', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('kept'));
    const first = (await upload(deployment, packed)).body;
    const patch = (body: object) => client.call('PATCH', `/v2/deployments/${deployment.id}`, body);
    await patch({ source_revision_config: { env: [{ name: 'A', value: '1' }] } });
    const list = async () =>
      (await client.call<{ resources: Revision[] }>('GET', `/v2/deployments/${deployment.id}/revisions`)).body
        .resources;
    expect((await list())[0]).toMatchObject({ number: 2, status: 'AWAITING_BUILD', upload: first.upload });
    const image_uri = `${authority.repositoryOf(await owner(deployment))}:pushed`;
    expect((await patch({ source_revision_config: { image_uri } })).status).toBe(200);
    const [newest] = await list();
    expect([newest?.status, newest?.upload]).toEqual(['QUEUED', undefined]);
  });

  test('is stored by many identical uploads that end at the same moment', async () => {
    const store = createSourceStore(authority, { insecure: true });
    const { signal } = new AbortController();
    const whose = await owner(await internal());
    for (let round = 0; round < 2; round++) {
      const packed = randomBytes(10_000);
      const each = async () => {
        async function* content() {
          yield packed;
        }
        await store?.store(whose, digestOf(packed), content(), signal);
      };
      await Promise.all(Array.from({ length: 48 }, each));
      expect(await store?.has(whose, digestOf(packed), signal)).toBe(true);
    }
  });

  test('of another tenant cannot be used, although its digest is known', async () => {
    const packed = await gzipped(folderOf('private'));
    const deployment = await internal();
    await upload(deployment, packed);
    const other = await api.tenant();
    expect((await upload(deployment, packed, { of: other })).status).toBe(404);
    const own = await internal(other);
    expect(await tagsOf(own)).toEqual([]);
    expect((await upload(own, packed, { of: other })).status).toBe(201);
    expect(await tagsOf(own)).toHaveLength(1);
  });
});

describe('an upload is rejected', () => {
  test('when an entry leaves the folder, with its name, and nothing is stored', async () => {
    const deployment = await internal();
    const big = { name: 'big', content: randomBytes(1_000_000) };
    const evil = await gzipped([{ name: '../evil', content: 'x' }, big]);
    expect(await issuesOf(evil, deployment)).toEqual([400, [[['body', '../evil'], 'entry_path']]]);
    expect(await issuesOf(await gzipped([{ name: 'l', type: 'symlink', linkname: '/etc' }, big]))).toEqual([
      400,
      [[['body', 'l'], 'link_target']],
    ]);
    expect(await issuesOf(await gzipped([{ name: 'a\u001bb', content: 'x' }]))).toEqual([
      400,
      [[['body', 'a\\u001bb'], 'entry_name']],
    ]);
    const many = Array.from({ length: 101 }, (_, index) => ({ name: `${index}`, content: '' }));
    expect(await issuesOf(await gzipped(many))).toEqual([400, [[['body', '100'], 'too_many_entries']]]);
    const bomb = await gzipped([{ name: 'bomb', content: Buffer.alloc(9 * 1024 * 1024) }]);
    expect(await issuesOf(bomb)).toEqual([400, [[['body', 'bomb'], 'unpacked_too_large']]]);
    expect(await issuesOf(Buffer.from('no archive'))).toEqual([400, [[['body'], 'not_an_archive']]]);
    expect(await tagsOf(deployment)).toEqual([]);
    expect(await rows(deployment)).toEqual([{ digest: digestOf(evil), stored: false }]);
    const { body } = await client.call<Deployment>('GET', `/v2/deployments/${deployment.id}`);
    expect([body.latest_revision_id, body.generation]).toEqual([null, 1]);
  });

  test('when its digest, type, size or settings are wrong', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('wrong'));
    const other = await gzipped(folderOf('other'));
    const digest = { 'content-digest': headersOf(other)['content-digest'] };
    const mismatch = await upload(deployment, packed, { headers: digest });
    expect([mismatch.status, mismatch.body.detail]).toMatchObject([400, [{ type: 'digest_mismatch' }]]);
    // Also when the stated digest is stored.
    await upload(deployment, other);
    expect((await upload(deployment, packed, { headers: digest })).status).toBe(400);
    expect((await upload(deployment, packed, { headers: { 'content-digest': 'md5=:AA==:' } })).status).toBe(
      422,
    );
    expect(
      (await upload(deployment, packed, { headers: { 'content-type': 'application/json' } })).status,
    ).toBe(415);
    expect(
      (await upload(deployment, await gzipped([{ name: 'a', content: randomBytes(2_200_000) }]))).status,
    ).toBe(413);
    for (const query of ['?dockerfile=a&workflow_config_path=b', '?dockerfile=../a', '?unknown=1'])
      expect((await upload(deployment, packed, { query })).status).toBe(422);
    expect((await upload(deployment, packed, { headers: { 'if-match': '"9"' } })).status).toBe(412);
    const external = await create(client);
    expect((await upload(external, packed)).body.detail).toMatchObject([{ type: 'refused_for_source' }]);
  });

  test('when the uploads of the tenant exceed its quota', async () => {
    await api.store.sql('UPDATE tenants SET quotas = $2 WHERE id = $1', [client.tenantId, { uploads_mb: 1 }]);
    const deployment = await internal();
    const half = async () => gzipped([{ name: 'a', content: randomBytes(600_000) }]);
    expect((await upload(deployment, await half())).status).toBe(201);
    expect(await issuesOf(await half(), deployment)).toEqual([400, [[['body'], 'quota_uploads_mb']]]);
    // An upload that is rejected does not count.
    const evil = await gzipped([{ name: '../evil', content: randomBytes(300_000) }]);
    const other = await gzipped([{ name: 'a', content: randomBytes(300_000) }]);
    expect((await issuesOf(evil, deployment))[0]).toBe(400);
    expect((await upload(deployment, other)).status).toBe(201);
    const usage = await client.call('GET', '/v2/usage');
    expect(usage.body).toMatchObject({ usage: { uploads_mb: 1 }, quotas: { uploads_mb: 1 } });
  });

  test('when the installation has no registry, or the cluster runs no builds', async () => {
    const packed = await gzipped(folderOf('nowhere'));
    const deployment = await internal();
    const without = await start({ registry: null }, 0, api.store);
    const answer = await upload(deployment, packed, { at: without.url });
    expect([answer.status, answer.body.detail]).toEqual([409, expect.stringContaining('BERTH_REGISTRY')]);
    await without.api.stop();
    await api.store.sql(`UPDATE listeners SET rendering = $1`, [JSON.stringify(NO_BUILDS)]);
    const builds = await upload(deployment, packed);
    await api.store.sql(`UPDATE listeners SET rendering = NULL`);
    expect([builds.status, builds.body.detail]).toEqual([409, expect.stringContaining('builds.enabled')]);
    expect(await rows(deployment)).toEqual([]);
  });
});

const NO_BUILDS = {
  hosting: 'self_hosted',
  podSecurity: 'baseline',
  databaseImage: 'd',
  cacheImage: 'c',
  healthPath: null,
  progressDeadlineSeconds: 60,
  routing: { mode: 'none', className: null, tlsIssuer: null },
  otlpEndpoint: null,
  networkIsolation: false,
  builds: false,
  storageClass: null,
  kubernetesVersion: '1.36',
};

/** URL of another process of the API, in which uploads may pause for longer. */
async function patient(deps: Partial<ApiDeps>): Promise<string> {
  const sourceStore = createSourceStore(authority, { insecure: true });
  const parts = { registry: registry.host, registryAuthority: authority, sourceStore, uploadIdleMs: 30_000 };
  const started = await start({ ...parts, ...deps }, 0, api.store);
  onTestFinished(() => started.api.stop());
  return started.url;
}

describe('an interrupted upload', () => {
  const packed = gzipped([...folderOf('cut'), { name: 'big', content: randomBytes(300_000) }]);

  test('leaves no revision, and can be repeated', async () => {
    const deployment = await internal();
    const cut = open(deployment, await packed, 100_000);
    await begun(deployment);
    cut.request.destroy();
    expect((await upload(deployment, await packed)).body).toMatchObject({ number: 1 });
    expect(await rows(deployment)).toMatchObject([{ stored: true }]);
  });

  test('creates no revision when the session of its caller ends while it arrives', async () => {
    const origin = 'https://berth.example.com';
    const sourceStore = createSourceStore(authority, { insecure: true });
    const deps = { registry: registry.host, registryAuthority: authority, sourceStore, publicUrl: origin };
    const second = await start(deps, 0, api.store);
    onTestFinished(() => second.api.stop());
    const post = (path: string, headers: Record<string, string>, payload: object) =>
      second.api.app.inject({ method: 'POST', url: path, headers: { origin, ...headers }, payload });
    const signedIn = await post('/v2/auth/key-session', {}, { api_key: client.key });
    const [cookie = ''] = String(signedIn.headers['set-cookie']).split(';');
    const deployment = await internal();
    const packed = await gzipped([{ name: 'a', content: randomBytes(100_000) }]);
    const { 'x-api-key': _key, ...rest } = headersOf(packed);
    const { response, end } = open(deployment, packed, 50_000, {
      at: second.url,
      headers: { ...rest, cookie, origin },
    });
    await begun(deployment);
    expect((await post('/v2/auth/sign-out', { cookie }, {})).statusCode).toBe(204);
    end();
    expect((await response).status).toBe(401);
    expect((await upload(deployment, packed)).body).toMatchObject({ number: 1 });
  });

  test('may take longer than other requests, but not without progress', async () => {
    const deployment = await internal();
    const slow = open(deployment, await packed, 100_000);
    // Longer than the limit for other bodies.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    slow.end();
    expect((await slow.response).status).toBe(201);
    const stuck = open(deployment, await gzipped(folderOf('stuck')), 10);
    expect((await stuck.response).status).toBe(408);
  });

  test('frees its place when it is rejected, before the rest of its body arrives', async () => {
    const external = await create(client);
    const held = [open(external, await packed, 100_000), open(external, await packed, 100_000)];
    // Both are rejected within this time.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await upload(await internal(), await gzipped(folderOf('after')))).status).toBe(201);
    for (const each of held) each.end();
    for (const each of held) expect((await each.response).status).toBe(400);
  });

  test('waits for its turn when the tenant has as many uploads as it may have', async () => {
    const at = await patient({});
    const deployment = await internal();
    const two = [
      open(deployment, await packed, 50_000, { at }),
      open(deployment, await packed, 50_000, { at }),
    ];
    await begun(deployment);
    const third = await upload(deployment, await gzipped(folderOf('third')), { at });
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '5']);
    const other = await api.tenant();
    expect((await upload(await internal(other), await packed, { at, of: other })).status).toBe(201);
    for (const each of two) each.end();
    const ends = await Promise.all(two.map(({ response }) => response));
    expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 201]);
  });
});

test('a slow upload gives its place to another tenant when all places are taken, and can be repeated', async () => {
  const at = await patient({ uploadWaitMs: 20_000, uploadKeptMs: 200 });
  const packed = await gzipped([...folderOf('places'), { name: 'big', content: randomBytes(100_000) }]);
  const held = [];
  for (let tenant = 0; tenant < 4; tenant++) {
    const whose = await api.tenant();
    const deployment = await internal(whose);
    for (let place = 0; place < 2; place++) {
      const sent = open(deployment, packed, 50_000, { at, headers: headersOf(packed, whose) });
      held.push({ ...sent, deployment, whose });
    }
    await begun(deployment);
  }
  expect((await upload(await internal(), packed, { at })).status).toBe(201);
  const first = await Promise.race(
    held.map(async (each) => ({ ...each, status: (await each.response).status })),
  );
  expect(first.status).toBe(503);
  for (const each of held) each.end();
  const ends = await Promise.all(held.map(async ({ response }) => (await response).status));
  expect(ends.toSorted()).toEqual([200, 200, 200, 201, 201, 201, 201, 503]);
  expect((await upload(first.deployment, packed, { at, of: first.whose })).status).toBe(200);
});

/** Runs a cleanup of the registry. @param whose of the registry that is cleaned */
async function clean(whose = authority): Promise<void> {
  const { platform } = api.store.database;
  await platform.transaction(enqueueUnusedUploads);
  const options = { database: api.store.database, insecure: true, kept: KEPT, logger: recordingLogger() };
  await createRegistryCleaning({ ...options, authority: whose }).run(new AbortController().signal);
}
/** Makes the uploads of a deployment so old that they are removed if no revision needs them. */
const age = ({ id }: Deployment) =>
  api.store.sql(`UPDATE uploads SET sent_at = now() - interval '1 hour' WHERE deployment_id = $1`, [id]);

describe('a registry', () => {
  let fake: Server;
  let respond: RequestListener;
  let broken: Awaited<ReturnType<typeof start>>;
  let registryAuthority: typeof authority;
  let host: string;
  beforeAll(async () => {
    fake = createServer((request, response) => respond(request, response));
    await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(fake.address() as AddressInfo).port}`;
    registryAuthority = createRegistryAuthority(host, keys);
    const sourceStore = createSourceStore(registryAuthority, { insecure: true, stallMs: 500 });
    broken = await start({ registry: host, registryAuthority, sourceStore }, 0, api.store);
  });
  afterAll(async () => {
    await broken?.api.stop();
    fake?.close();
    fake?.closeAllConnections();
  });
  const session: RequestListener = (request, response) => {
    request.resume();
    response.writeHead(202, { location: '/v2/x/blobs/uploads/1?_state=a' }).end();
  };

  test.each<[string, number, RequestListener]>([
    [
      'is full midway',
      502,
      (request, response) => {
        if (request.method !== 'PATCH') return session(request, response);
        request.once('data', () => response.writeHead(500).end());
      },
    ],
    [
      'does not respond',
      504,
      (request, response) => {
        if (request.method === 'POST') session(request, response);
      },
    ],
    [
      'closes the connection midway',
      503,
      (request, response) => {
        if (request.method === 'POST') session(request, response);
        else request.once('data', () => request.socket.destroy());
      },
    ],
    ['denies access', 502, (_request, response) => void response.writeHead(403).end()],
    ['limits requests', 503, (_request, response) => void response.writeHead(429).end()],
  ])('that %s results in %i, and the upload can be repeated', async (_, status, responds) => {
    respond = responds;
    const deployment = await internal();
    const packed = await gzipped([
      ...folderOf(randomBytes(4).toString('hex')),
      { name: 'b', content: randomBytes(1_500_000) },
    ]);
    const failed = await upload(deployment, packed, { at: broken.url });
    expect([failed.status, failed.body.detail]).toEqual([
      status,
      expect.stringContaining('Nothing was changed'),
    ]);
    expect(await rows(deployment)).toMatchObject([{ stored: false }]);
    expect((await upload(deployment, packed)).body).toMatchObject({ number: 1, status: 'AWAITING_BUILD' });
  });

  test('that waits midway does not delay a shutdown, and the client can repeat the upload', async () => {
    const sourceStore = createSourceStore(registryAuthority, { insecure: true });
    const closing = await start({ registry: host, registryAuthority, sourceStore }, 0, api.store);
    const sending = Promise.withResolvers<void>();
    respond = (request, response) => {
      if (request.method !== 'PATCH') return session(request, response);
      request.once('data', () => sending.resolve());
    };
    const packed = await gzipped([...folderOf('closing'), { name: 'b', content: randomBytes(1_500_000) }]);
    const sent = upload(await internal(), packed, { at: closing.url });
    await sending.promise;
    const closed = closing.api.stop();
    const { status, headers, body } = await sent;
    expect([status, headers.get('retry-after'), body.detail]).toEqual([
      503,
      '5',
      expect.stringContaining('Send the upload again'),
    ]);
    await closed;
  });

  test('that fails in the middle of a cleanup leaves no upload that counts as stored', async () => {
    const deployment = await internal();
    const archives = await Promise.all(['r', 's', 't'].map((text) => gzipped(folderOf(text))));
    for (const packed of archives) await upload(deployment, packed);
    await api.store.sql(
      `UPDATE revisions SET status = 'SKIPPED', resolved_image = 'r/i@sha256:' || repeat('a', 64)
       WHERE deployment_id = $1 AND number < 3`,
      [deployment.id],
    );
    await age(deployment);
    const tags = archives.map((packed) => digestOf(packed).replace(':', '-'));
    let deletions = 0;
    respond = ({ method, url: path = '' }, response) => {
      if (path.includes('/sources/tags/')) return void response.end(JSON.stringify({ tags }));
      if (path.includes('/tags/')) return void response.writeHead(404).end();
      const digest = path.split('/').at(-1)?.replace('-', ':') ?? '';
      if (method === 'HEAD') return void response.writeHead(200, { 'docker-content-digest': digest }).end();
      deletions += 1;
      response.writeHead(deletions === 1 ? 202 : 500).end();
    };
    await clean(registryAuthority);
    expect(deletions).toBe(2);
    const marks = await api.store.sql<{ digest: string; stored: boolean; removing: boolean }>(
      'SELECT digest, stored, removing FROM uploads WHERE deployment_id = $1',
      [deployment.id],
    );
    expect(new Map(marks.map(({ digest, ...rest }) => [digest, rest]))).toEqual(
      new Map(archives.map((packed, index) => [digestOf(packed), { stored: index === 2, removing: false }])),
    );
  });
});

describe('the cleanup', () => {
  test('removes uploads that no revision needs, and all uploads of a deleted deployment', async () => {
    const deployment = await internal();
    const archives = await Promise.all(['a', 'b', 'c'].map((text) => gzipped(folderOf(text))));
    for (const [index, packed] of archives.entries()) {
      const { body } = await upload(deployment, packed);
      if (index < 2) await reportBuilt(deployment, body);
    }
    await api.store.sql(`UPDATE revisions SET status = 'DEPLOYED' WHERE deployment_id = $1 AND number < 3`, [
      deployment.id,
    ]);
    // An upload without a revision.
    await upload(deployment, await gzipped([{ name: '../x', content: 'x' }]));
    const kept = archives.slice(2).map((packed) => digestOf(packed).replace(':', '-'));
    await clean();
    expect(await tagsOf(deployment)).toHaveLength(3);
    await age(deployment);
    await clean();
    expect(await tagsOf(deployment)).toEqual(kept);
    expect(await rows(deployment)).toEqual([{ digest: digestOf(archives[2] as Buffer), stored: true }]);
    // The image of the first upload is kept, so it is not built again.
    expect((await upload(deployment, archives[0] as Buffer)).body).toMatchObject({
      status: 'QUEUED',
      build: null,
    });
    const whose = await owner(deployment);
    await api.store.sql(
      'INSERT INTO repository_cleanings (deployment_id, tenant_id, app_name, whole) VALUES ($1, $2, $3, true)',
      [whose.id, whose.tenantId, whose.appName],
    );
    await clean();
    expect(await tagsOf(deployment)).toEqual([]);
  });

  test('rejects an upload that is being removed, and says how long', async () => {
    const deployment = await internal();
    const packed = await gzipped(folderOf('removing'));
    await upload(deployment, packed);
    await api.store.sql('UPDATE uploads SET removing = true WHERE deployment_id = $1', [deployment.id]);
    const { status, headers, body } = await upload(deployment, packed);
    expect([status, headers.get('retry-after'), body.detail]).toEqual([
      409,
      '5',
      expect.stringContaining('within 10 minutes'),
    ]);
  });

  test('waits for an upload that is sent while its deployment is deleted', async () => {
    const deployment = await internal();
    const whose = owner(deployment);
    await whose;
    const packed = await gzipped([...folderOf('orphan'), { name: 'b', content: randomBytes(300_000) }]);
    const sent = open(deployment, packed, 100_000);
    await begun(deployment);
    const path = `/v2/deployments/${deployment.id}?force=true`;
    expect((await client.call('DELETE', path)).status).toBeLessThan(300);
    await clean();
    sent.end();
    expect((await sent.response).status).toBe(404);
    expect(await tagsOf(deployment, whose)).toHaveLength(1);
    await api.store.sql(
      `UPDATE repository_cleanings SET next_attempt_at = next_attempt_at - interval '20 minutes'
       WHERE deployment_id = $1`,
      [deployment.id],
    );
    await clean();
    expect(await tagsOf(deployment, whose)).toEqual([]);
  });

  test('keeps what it cannot remove, so that it can be used again', async () => {
    const deployment = await internal();
    const [one, two] = [await gzipped(folderOf('x')), await gzipped(folderOf('y'))];
    await reportBuilt(deployment, (await upload(deployment, one)).body);
    await upload(deployment, two);
    await age(deployment);
    await registry.halt();
    await clean();
    await registry.start();
    expect(await rows(deployment)).toHaveLength(2);
    const marks = await api.store.sql('SELECT removing FROM uploads WHERE deployment_id = $1', [
      deployment.id,
    ]);
    expect(marks).toEqual([{ removing: false }, { removing: false }]);
  });
});

test('the commands of docs/builds.md create a revision', async () => {
  const page = readFileSync(join(root, 'docs/builds.md'), 'utf8');
  const [, block = ''] = /^```sh upload\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const work = mkdtempSync(join(folder, 'tour-'));
  mkdirSync(join(work, 'app'));
  writeFileSync(join(work, 'app/package.json'), '{"main": "server.js"}');
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `node() { "$NODE" "$@"; }\n${block}`], {
    cwd: work,
    env: { PATH: process.env['PATH'], NODE: process.execPath, BERTH_URL: url, BERTH_API_KEY: client.key },
  });
  const revision: Revision = JSON.parse(readFileSync(join(work, 'revision.json'), 'utf8'));
  expect(revision).toMatchObject({ status: 'AWAITING_BUILD', upload: { digest: expect.any(String) } });
});
