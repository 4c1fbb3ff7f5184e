/** The hub removes exactly those images from a real registry that no revision needs, with its own tokens. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRegistryCleaning } from '../../../src/app/registry-cleanup.ts';
import { createRegistryAuthority, type Owner } from '../../../src/hub/registry/authority.ts';
import { generateSigningKey, keySet, parseSigningKeys } from '../../../src/hub/registry/signing-key.ts';
import { claimCleanings, enqueueCleanings } from '../../../src/hub/store/builds/repository-cleanups.ts';
import { removeRecord } from '../../../src/hub/store/deployments/deployments.ts';
import { type LocalRegistry, startRegistry, type TokenAuth } from '../../cluster/images/registry.ts';
import { FIRST_TIME_MS, resolveImageTools } from '../../cluster/images/tools.ts';
import { type ApiFixture, type Client, create, startApi } from '../harness/api.ts';
import { recordingLogger } from '../harness/store.ts';

const KEPT = 2;
const keys = parseSigningKeys(generateSigningKey());
const auth = (host: string): TokenAuth => ({
  realm: 'http://localhost:1/v2/registry/token',
  service: host,
  issuer: 'berth',
  jwks: JSON.stringify(keySet(keys)),
  signingAlgorithms: ['ES256'],
});

let registry: LocalRegistry;
let api: ApiFixture;
let client: Client;
let authority: ReturnType<typeof createRegistryAuthority>;

beforeAll(async () => {
  // Its address is part of its tokens.
  registry = await startRegistry();
  await registry.halt();
  await registry.start(auth(registry.host));
  authority = createRegistryAuthority(registry.host, keys);
  api = await startApi();
  client = await api.tenant();
}, FIRST_TIME_MS);
afterAll(async () => {
  await Promise.all([api?.stop(), registry?.stop()]);
});
beforeEach(() => api.store.sql('DELETE FROM repository_cleanings'));

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

const platform = () => api.store.database.platform;

async function call(
  owner: Owner,
  method: string,
  path: string,
  body?: Buffer,
  type = 'application/octet-stream',
) {
  const repository = authority.repositoryOf(owner).slice(registry.host.length + 1);
  const statement = {
    kind: 'build',
    deploymentId: owner.id,
    tenantId: owner.tenantId,
    expiresAt: null,
  } as const;
  const { token } = await authority.accessToken(
    statement,
    owner,
    [`repository:${repository}:pull,push`],
    new Date(),
  );
  const url = path.startsWith('http') ? path : `${registry.url}/v2/${repository}/${path}`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': type, accept: MANIFEST };
  return fetch(url, { method, headers, ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
}

const digestOf = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`;

async function pushBlob(owner: Owner, content: Buffer): Promise<object> {
  const begun = await call(owner, 'POST', 'blobs/uploads/');
  const url = new URL(begun.headers.get('location') ?? '', registry.url);
  url.searchParams.set('digest', digestOf(content));
  expect((await call(owner, 'PUT', url.href, content)).status).toBe(201);
  return {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    size: content.length,
    digest: digestOf(content),
  };
}

/** Pushes an image of this content, as a build does with its own credential; resolves to its digest. */
async function push(owner: Owner, tag: string, content: string): Promise<string> {
  const config = await pushBlob(owner, Buffer.from(JSON.stringify({ content })));
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [] }));
  expect((await call(owner, 'PUT', `manifests/${tag}`, manifest, MANIFEST)).status).toBe(201);
  return digestOf(manifest);
}

async function tags(owner: Owner): Promise<string[]> {
  const answer = await call(owner, 'GET', 'tags/list');
  if (answer.status === 404) return [];
  return (((await answer.json()) as { tags: string[] | null }).tags ?? []).sort();
}

/** A deployment with five finished revisions, each with an image of its own content; the last one is active. */
async function built(contents = ['a', 'b', 'c', 'd', 'e']): Promise<Owner & { digests: string[] }> {
  const { id } = await create(client, {});
  const rows = await api.store.sql<{ appName: string }>(
    'SELECT app_name AS "appName" FROM deployments WHERE id = $1',
    [id],
  );
  const owner = { id, tenantId: client.tenantId, appName: rows[0]?.appName ?? '' };
  const digests: string[] = [];
  for (const [index, content] of contents.entries()) {
    const number = index + 1;
    const image = { source_revision_config: { image_uri: `registry.example.com/shop/web:${number}` } };
    if (number > 1) expect((await client.call('PATCH', `/v2/deployments/${id}`, image)).status).toBe(200);
    const digest = await push(owner, `rev-${number}`, content);
    digests.push(digest);
    await api.store.sql(
      `UPDATE revisions SET status = 'CREATE_FAILED', resolved_image = $3 WHERE deployment_id = $1 AND number = $2`,
      [id, number, `${authority.repositoryOf(owner)}@${digest}`],
    );
  }
  await push(owner, 'buildcache', `cache of ${id}`);
  return { ...owner, digests };
}

function cleaning(asks: LocalRegistry = registry, kept = KEPT) {
  const logger = recordingLogger();
  const own = createRegistryAuthority(asks.host, keys);
  const made = createRegistryCleaning({
    database: api.store.database,
    authority: own,
    insecure: true,
    kept,
    logger,
  });
  return { logger, run: () => made.run(AbortSignal.timeout(60_000)) };
}

const enqueue = (id: string) => platform().transaction((transaction) => enqueueCleanings(transaction, [id]));
const waiting = () =>
  api.store.sql<{ deployment_id: string; attempts: number; seconds: number }>(
    'SELECT deployment_id, attempts, extract(epoch FROM next_attempt_at - now())::float AS seconds FROM repository_cleanings',
  );
const end = async ({ id }: Owner, keep = false) => {
  await api.store.sql(
    'UPDATE deployments SET delete_requested_at = now(), keep_workloads = $2 WHERE id = $1',
    [id, keep],
  );
  const { database } = api.store;
  await database
    .forTenant(client.tenantId)
    .transaction((tx) => removeRecord(tx, client.tenantId, id, { kind: 'system' }));
};

describe('a clean-up after a build', () => {
  test('removes images of revisions that are not kept, but not the newest, the active one and the cache', async () => {
    const owner = await built();
    await api.store.sql(
      `UPDATE deployments SET active_revision_id = (SELECT id FROM revisions WHERE deployment_id = $1 AND number = 2) WHERE id = $1`,
      [owner.id],
    );
    await enqueue(owner.id);
    await cleaning().run();
    expect(await tags(owner)).toEqual(['buildcache', 'rev-2', 'rev-4', 'rev-5']);
    expect((await call(owner, 'HEAD', `manifests/${owner.digests[0]}`)).status).toBe(404);
    expect(await waiting()).toEqual([]);
  });

  test('keeps an image of a kept revision, even if an old revision has it, too', async () => {
    const owner = await built(['same', 'b', 'c', 'd', 'same']);
    await enqueue(owner.id);
    await cleaning().run();
    expect(await tags(owner)).toEqual(['buildcache', 'rev-1', 'rev-4', 'rev-5']);
  });

  test('keeps an image that a build has pushed and not reported, even if an old revision has it, too', async () => {
    const owner = await built(['same', 'b', 'c', 'd', 'same']);
    await api.store.sql(
      `UPDATE revisions SET status = 'BUILDING', resolved_image = NULL WHERE deployment_id = $1 AND number = 5`,
      [owner.id],
    );
    await enqueue(owner.id);
    await cleaning().run();
    expect(await tags(owner)).toEqual(['buildcache', 'rev-1', 'rev-4', 'rev-5']);
  });

  test('keeps every needed image and its layers through the garbage collection of untagged images', async () => {
    const owner = await built();
    // Each build rewrites the cache, so the previous cache has no tag any more.
    const before = await push(owner, 'buildcache', 'first');
    await push(owner, 'buildcache', 'second');
    await enqueue(owner.id);
    await cleaning().run();
    await registry.halt();
    const { registry: program } = await resolveImageTools(['registry']);
    await promisify(execFile)(program, ['garbage-collect', '-m', join(registry.stateDir, 'config.yml')], {
      env: { ...process.env, OTEL_TRACES_EXPORTER: 'none' },
    });
    await registry.start();
    expect((await call(owner, 'HEAD', `manifests/${before}`)).status).toBe(404);
    for (const digest of owner.digests.slice(-KEPT)) {
      const answer = await call(owner, 'GET', `manifests/${digest}`);
      expect(answer.status).toBe(200);
      const { config } = (await answer.json()) as { config: { digest: string } };
      expect((await call(owner, 'HEAD', `blobs/${config.digest}`)).status).toBe(200);
    }
  });
});

describe('a clean-up at the end of the record', () => {
  test('removes the whole repository with its cache, and nothing of others', async () => {
    const [owner, neighbour] = [await built(), await built()];
    await end(owner);
    await cleaning().run();
    expect(await tags(owner)).toEqual([]);
    expect(await tags(neighbour)).toHaveLength(6);
    expect(await waiting()).toEqual([]);
  });

  test('removes nothing when the workloads continue without Berth, even if a clean-up was waiting', async () => {
    const owner = await built();
    await enqueue(owner.id);
    await end(owner, true);
    await cleaning().run();
    expect(await tags(owner)).toHaveLength(6);
    expect(await waiting()).toEqual([]);
  });
});

test('retries an unreachable registry later, and continues the work of a killed process', async () => {
  const owner = await built();
  await end(owner);
  await registry.halt('SIGKILL');
  const { run, logger } = cleaning();
  await run();
  expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
  const [row] = await waiting();
  expect(row).toMatchObject({ deployment_id: owner.id, attempts: 1 });
  expect(row?.seconds).toBeGreaterThan(30);
  await registry.start();
  // The clean-up is due; one process takes it and is killed.
  const due = () => api.store.sql('UPDATE repository_cleanings SET next_attempt_at = now()');
  await due();
  await platform().transaction((transaction) =>
    claimCleanings(transaction, { limit: 10, leaseSeconds: 600 }),
  );
  await run();
  expect(await tags(owner)).toHaveLength(6);
  await due();
  await run();
  expect(await tags(owner)).toEqual([]);
  expect(await waiting()).toEqual([]);
});

test('repeats a clean-up that is requested again while it runs', async () => {
  const owner = await built();
  await enqueue(owner.id);
  const [taken] = await platform().transaction((transaction) =>
    claimCleanings(transaction, { limit: 10, leaseSeconds: 600 }),
  );
  await enqueue(owner.id);
  expect((await waiting())[0]?.attempts).toBeGreaterThan(taken?.attempts ?? 0);
  expect((await waiting())[0]?.seconds).toBeLessThanOrEqual(0);
});

test('logs a registry that does not allow deletion once, and retries it after a day', async () => {
  const strict = await startRegistry({ deletes: false });
  try {
    const previous = [registry, authority] as const;
    await strict.halt();
    await strict.start(auth(strict.host));
    [registry, authority] = [strict, createRegistryAuthority(strict.host, keys)];
    try {
      const owners = [await built(['x']), await built(['y'])];
      for (const owner of owners) await end(owner);
      const { run, logger } = cleaning(strict);
      await run();
      await run();
      expect(logger.lines.map(({ message }) => message)).toEqual([
        expect.stringContaining('enable deletion'),
      ]);
      const rows = await waiting();
      expect(rows).toHaveLength(2);
      for (const { seconds } of rows) expect(seconds).toBeGreaterThan(23 * 3600);
    } finally {
      [registry, authority] = previous;
    }
  } finally {
    await strict.stop();
  }
});
