/**
 * Canaries: one value for each kind of secret goes through a whole Berth, with errors made on purpose on its way; then everything that
 * Berth and PostgreSQL wrote is searched for them. Only Secret objects may hold the secrets of a deployment, and only answers to keys
 * with secrets:read show them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../cluster/postgres.ts';
import { waitFor } from '../../cluster/wait.ts';
import { type BerthProcess, runBerth } from '../../installation/berth-process.ts';
import { type DeploymentAnswer, isReady, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { type CanarySearch, canarySearch, newCanary } from '../harness/canary.ts';
import { createNamespace, deleteNamespace, kubectlAsAdmin } from '../harness/environment.ts';

const search: CanarySearch = canarySearch();
const canary = (name: string) => search.add(name, newCanary(name));

const POSTED = canary('posted');
const PATCHED = canary('patched');
const REFUSED = canary('refused');
const STRANDED = canary('stranded');
const TOKEN = canary('token');
const DATABASE_PASSWORD = canary('database-password');
const LISTENER_KEY = canary('listener-key');
const BOOTSTRAP_KEY = canary('bootstrap-key');
const WRONG_KEY = canary('wrong-key');
const ENCRYPTION_KEY = search.add(
  'encryption-key',
  Buffer.from(newCanary('e').slice(0, 32)).toString('base64'),
);
/** What a deployment's own Secrets may hold. */
const OF_DEPLOYMENTS = ['posted', 'patched', 'stranded'];

let server: LocalPostgres;
let berth: WholeBerth;
let closed: string;
let apiKey: string;
/** Reads everything but secrets. */
let reader: string;
let id: string;
let role: string;

/** A server that writes each statement with its parameters; databases belong to a role with a canary for its password. */
async function startTalkativeServer(): Promise<void> {
  server = await startPostgres({
    fsync: false,
    log: () => undefined,
    settings: {
      log_statement: 'all',
      log_duration: 'on',
      log_min_duration_statement: '0',
      log_parameter_max_length: '-1',
      log_parameter_max_length_on_error: '-1',
      log_min_messages: 'debug1',
    },
  });
}

async function asAdmin<T>(database: string | null, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const url = new URL(server.url);
  if (database !== null) url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.toString() });
  await client.connect();
  try {
    // This is the test's own, not Berth's.
    await client.query(
      'SET log_statement = none; SET log_min_duration_statement = -1; SET log_duration = off',
    );
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createDatabase(name: string): Promise<string> {
  const url = new URL(await server.createDatabase(name));
  role = name.replaceAll('-', '_');
  await asAdmin(null, async (client) => {
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD '${DATABASE_PASSWORD}'`);
    await client.query(`ALTER DATABASE "${name}" OWNER TO ${role}`);
  });
  url.username = role;
  url.password = DATABASE_PASSWORD;
  return url.toString();
}

interface Reply {
  status: number;
  text: string;
}

/** Every answer to whoever may not see secrets. */
const answers: (Reply & { what: string })[] = [];

async function send(
  method: string,
  path: string,
  options: { key?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const { key = apiKey, body, headers = {} } = options;
  const response = await fetch(new URL(path, berth.process().url), {
    method,
    headers: {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const reply = { status: response.status, text: await response.text() };
  const shown = key === apiKey && reply.status < 300;
  if (!shown) answers.push({ ...reply, what: `${method} ${path}` });
  return reply;
}

const body = (name: string, value: string, more: object = {}) => ({
  name,
  source: 'external_image',
  source_config: {},
  source_revision_config: { image_uri: 'registry.example/shop/web:1.0.0' },
  secrets: [{ name: 'SECRET', value }],
  ...more,
});

async function made(path: string, sent: unknown, key = apiKey): Promise<{ id: string; key?: string }> {
  const reply = await send('POST', path, { body: sent, key });
  if (reply.status !== 201) throw new Error(`failed to POST ${path}: ${reply.status} ${reply.text}`);
  return JSON.parse(reply.text);
}

const logFiles = (folder: string) =>
  readdirSync(join(folder, 'logs')).map((name) => ({
    name,
    text: readFileSync(join(folder, 'logs', name), 'utf8'),
  }));

async function startParts(): Promise<BerthProcess[]> {
  return [
    await berth.startRole('operator', 'operator'),
    await berth.startRole('listener', 'listener', { BERTH_HUB_URL: berth.process().url }),
  ];
}

/** A deployment through its life: posted, changed, rolled back. */
async function live(): Promise<void> {
  const created = await made('/v2/deployments', body('canary', POSTED));
  id = created.id;
  const first = await berth.ready(id);
  const patched = await send('PATCH', `/v2/deployments/${id}`, {
    body: { secrets: [{ name: 'SECRET', value: PATCHED }] },
  });
  expect(patched.status).toBe(200);
  await berth.ready(id);
  const back = await send('POST', `/v2/deployments/${id}/revisions/${first.latest_revision_id}/rollback`);
  expect(back.status, back.text).toBe(201);
  const { body: shown } = await berth.call<DeploymentAnswer & { secrets: object[] }>(
    'GET',
    `/v2/deployments/${id}`,
  );
  expect(shown.secrets).toEqual([{ name: 'SECRET', value: POSTED }]);
  await berth.ready(id);
}

/** Requests that are refused, each with the secret in it. */
async function refusals(): Promise<void> {
  const post = (sent: unknown, headers: Record<string, string> = {}) =>
    send('POST', '/v2/deployments', { body: sent, headers });
  const wrong: [string, unknown][] = [
    ['malformed', `{"secrets": [{"name": "A", "value": "${REFUSED}`],
    ['followed by more', `${JSON.stringify(body('x', REFUSED))}${REFUSED}`],
    ['a list as value', body('x', REFUSED, { secrets: [{ name: 'A', value: [REFUSED] }] })],
    ['an object as value', body('x', REFUSED, { secrets: [{ name: 'A', value: { x: REFUSED } }] })],
    ['a map', body('x', REFUSED, { secrets: { A: REFUSED } })],
    ['a text', body('x', REFUSED, { secrets: REFUSED })],
    ['where a number belongs', body('x', REFUSED, { source_config: { resource_spec: { cpu: REFUSED } } })],
    ['where a UUID belongs', body('x', REFUSED, { source_config: { integration_id: REFUSED } })],
    ['as image', body('x', REFUSED, { source_revision_config: { image_uri: `!${REFUSED}` } })],
    ['in a URL', body('x', REFUSED, { source_config: { custom_url: `https://u:${REFUSED}@a.example.com` } })],
    ['as a source', body('x', REFUSED, { source: REFUSED })],
    ['with NUL', body('x', `${REFUSED}\u0000`)],
    ['too long', body('x', REFUSED.repeat(5000))],
    ['twice', `{"secrets":[{"name":"A","value":"${REFUSED}","value":"${REFUSED}"}]}`],
    [
      'by the policy',
      body('x', REFUSED, {
        source_config: {
          resource_spec: {
            sidecars: [
              {
                name: 'a',
                image: 'a:1',
                env: [{ name: 'A', value: REFUSED }],
                securityContext: { privileged: true },
              },
            ],
          },
        },
      }),
    ],
    ['a name that is taken', body('canary', REFUSED)],
  ];
  for (const [what, sent] of wrong) {
    const { status } = await post(sent);
    expect([400, 409, 422], what).toContain(status);
  }
  const key = { 'idempotency-key': 'canary' };
  expect((await post(body('idempotent', POSTED), key)).status).toBe(201);
  expect((await post(body('idempotent', REFUSED), key)).status).toBe(409);
  expect((await post(body('dry', REFUSED, { source: 'git_host' }))).status).toBe(400);
  expect((await send('GET', '/v2/deployments', { key: WRONG_KEY })).status).toBe(401);
  expect((await send('GET', `/v2/deployments?name=x&limit=${REFUSED}`)).status).toBe(422);
  expect((await send('POST', '/v2/deployments', { key: reader, body: body('x', REFUSED) })).status).toBe(403);
}

/** An apply that the cluster refuses: a namespace that is being deleted takes nothing new. */
async function failingApply(): Promise<void> {
  const stranded = await made('/v2/deployments', {
    ...body('stranded', STRANDED),
    source_config: { listener_config: { cluster_namespace: closed } },
  });
  await berth.until(stranded.id, 'a reported rejection', ({ conditions }) =>
    conditions.some(
      ({ type, status, reason }) => type === 'Ready' && status === 'False' && reason !== 'Reconciling',
    ),
  );
}

/** PostgreSQL goes away and comes back, with requests under way. */
async function outage(): Promise<void> {
  await server.stopServer('fast');
  const down = await send('POST', '/v2/deployments', { body: body('down', REFUSED) });
  expect(down.status).toBe(503);
  expect((await send('GET', `/v2/deployments/${id}`)).status).toBe(503);
  const isLogged = async () =>
    logFiles(berth.stateDir).some(({ name, text }) => name === 'listener.log' && text.includes('HTTP 503'));
  await waitFor('the listener to be answered with an error', isLogged, { timeoutMs: 60_000 });
  await server.startServer();
  await waitFor(
    'the API to answer again',
    async () => (await send('GET', `/v2/deployments/${id}`)).status === 200,
    { timeoutMs: 60_000 },
  );
  const after = await made('/v2/deployments', body('after', PATCHED));
  await berth.ready(after.id);
}

beforeAll(async () => {
  await startTalkativeServer();
  closed = await createNamespace('canary-closed');
  berth = await startWholeBerth('canary', {
    server: { createDatabase, dropDatabase: server.dropDatabase },
    start: 'api',
    moreNamespaces: [closed],
    settings: {
      BERTH_LOG_LEVEL: 'debug',
      BERTH_LISTENER_KEY: LISTENER_KEY,
      BERTH_BOOTSTRAP_API_KEY: BOOTSTRAP_KEY,
      BERTH_ENCRYPTION_KEYS: `canary:${ENCRYPTION_KEY}`,
    },
  });
  apiKey = search.add('api-key', berth.apiKey);
  const made = await runBerth(
    berth.stateDir,
    ['keys', 'create', '--tenant', 'test', '--name', 'reader', '--scopes', 'deployments:read', '-o', 'json'],
    berth.settings,
  );
  reader = search.add('reader-key', (JSON.parse(made) as { api_key: string }).api_key);
  await kubectlAsAdmin(['create', 'configmap', 'holds', '-n', closed]);
  await kubectlAsAdmin([
    'patch',
    'configmap',
    'holds',
    '-n',
    closed,
    '-p',
    '{"metadata":{"finalizers":["example.com/hold"]}}',
  ]);
  await deleteNamespace(closed);
  await startParts();
  await live();
  await integration();
  await refusals();
  await failingApply();
  await outage();
}, 400_000);
afterAll(async () => {
  await kubectlAsAdmin([
    'patch',
    'configmap',
    'holds',
    '-n',
    closed,
    '-p',
    '{"metadata":{"finalizers":null}}',
  ]);
  await berth?.stop();
  await server?.stop();
});

/** The secret of a webhook: in the answer that makes it, then in deliveries alone. */
async function webhook(integrationId: string): Promise<void> {
  const made = await send('POST', `/v2/integrations/${integrationId}/webhook-secret`);
  expect(made.status).toBe(201);
  const secret = search.add('webhook-secret', (JSON.parse(made.text) as { secret: string }).secret);
  const deliver = (token: string) =>
    send('POST', `/v2/webhooks/${integrationId}`, {
      key: '',
      headers: { 'x-gitlab-token': token },
      body: { object_kind: token },
    });
  expect((await deliver(`${secret}x`)).status).toBe(404);
  expect((await send('GET', `/v2/integrations/${integrationId}`)).status).toBe(200);
}

async function integration(): Promise<void> {
  const { id: integrationId } = await made('/v2/integrations', {
    name: 'git',
    provider: 'gitlab',
    host_url: 'https://git.invalid',
    token: TOKEN,
  });
  const wrong = await send('POST', '/v2/integrations', { body: { name: 'x', token: [TOKEN] } });
  expect(wrong.status).toBe(422);
  await send('GET', `/v2/integrations/${integrationId}/repos`);
  await webhook(integrationId);
}

describe('the values of secrets', () => {
  test('do not appear in the logs at level debug', () => {
    const logs = logFiles(berth.stateDir);
    expect(logs.map(({ name }) => name).sort()).toEqual(['berth.log', 'listener.log', 'operator.log']);
    for (const { name, text } of logs) {
      expect(search.found(text), name).toEqual([]);
    }
    const textOf = (wanted: string) => logs.find(({ name }) => name === wanted)?.text ?? '';
    expect(textOf('berth.log')).toContain('"level":"debug"');
    expect(textOf('berth.log'), 'a request failed for want of the database').toContain(
      'failed to respond to a request',
    );
    expect(textOf('listener.log'), 'an apply failed').toContain('failed to apply a work item');
    expect(textOf('listener.log'), 'the hub answered with an error').toContain('HTTP 503');
    expect(textOf('operator.log')).toContain('"msg":"started"');
  });

  test('do not appear in responses to a key without secrets:read, to a rejected request, or without a key', async () => {
    const document = JSON.parse((await send('GET', '/openapi.json', { key: reader })).text) as {
      paths: Record<string, { get?: object }>;
    };
    const { body: deployment } = await berth.call('GET', `/v2/deployments/${id}`);
    const ids: Record<string, string> = {
      deployment_id: id,
      revision_id: deployment.latest_revision_id ?? '',
    };
    const paths = Object.keys(document.paths).filter((path) => document.paths[path]?.get !== undefined);
    let answered = 0;
    for (const path of paths) {
      const url = path.replace(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? id);
      if (url.endsWith('/work')) continue;
      // Without it, the stream of changes stays open.
      const query = url === '/v2/watch' ? '?timeout_seconds=1' : '';
      const { status } = await send('GET', `${url}${query}`, { key: reader });
      if (status === 200) answered += 1;
    }
    expect(answered).toBeGreaterThan(6);
    expect(answers.length).toBeGreaterThan(25);
    for (const { what, status, text } of answers) expect(search.found(text), `${what} ${status}`).toEqual([]);
    const masked = answers.find(({ what }) => what === `GET /v2/deployments/${id}`);
    expect(
      answers.some(({ text }) => text.includes('"**********"')),
      masked?.text,
    ).toBe(true);
    // With the scope, unless it is asked for the mask.
    const { text } = await send('GET', `/v2/deployments/${id}?mask_secrets=true`);
    expect(search.found(text)).toEqual([]);
  });

  test('do not appear in metrics', async () => {
    const ports = logFiles(berth.stateDir).flatMap(({ text }) =>
      [...text.matchAll(/"metricsPort":(\d+)/g)].map(([, port]) => port),
    );
    expect(new Set(ports).size).toBe(3);
    for (const port of new Set(ports)) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toContain('# TYPE');
      expect(search.found(text)).toEqual([]);
    }
  });

  test('do not appear in objects of the cluster except Secrets, including events and managed fields', async () => {
    const kindsNow = async () =>
      (await kubectlAsAdmin(['api-resources', '--namespaced', '--verbs=list', '-o', 'name']))
        .split('\n')
        .filter((kind) => kind !== '' && kind !== 'secrets');
    /** Other files take custom resource definitions of theirs away: there is nothing left of such a kind then. */
    const listed = async (kind: string, namespace: string) => {
      try {
        const where = ['-n', namespace, '-o', 'json', '--show-managed-fields'];
        return await kubectlAsAdmin(['get', kind, ...where]);
      } catch (error) {
        if ((await kindsNow()).includes(kind)) throw error;
        return '';
      }
    };
    const patience = { timeoutMs: 30_000 };
    const kinds = await waitFor('the kinds', kindsNow, patience);
    expect(kinds).toEqual(expect.arrayContaining(['events', 'pods', 'manageddeployments.berth.dev']));
    const namespaces = [berth.namespace, berth.settings['BERTH_NAMESPACE'] ?? '', closed];
    for (const namespace of namespaces) {
      for (const kind of kinds) {
        const text = await waitFor(`${kind} in ${namespace}`, () => listed(kind, namespace), patience);
        expect(search.found(text), `${kind} in ${namespace}`).toEqual([]);
      }
    }
    const revisions = await berth.get('controllerrevisions');
    expect(revisions.items.length).toBeGreaterThan(0);
  }, 300_000);

  test('appear in the Secrets of the deployments, which shows that the search works, and in no other Secret', async () => {
    const secrets = await berth.get<{ items: { metadata: { name: string }; data?: object }[] }>('secrets');
    const environments = secrets.items.filter(({ metadata }) => /-env-\d+$/.test(metadata.name));
    expect(environments.length).toBeGreaterThanOrEqual(2);
    expect(search.found(JSON.stringify(environments.map(({ data }) => data))).sort()).toEqual([
      'patched',
      'posted',
    ]);
    for (const { metadata, data } of secrets.items) {
      expect(search.found(JSON.stringify(metadata)), metadata.name).toEqual([]);
      const found = search.found(JSON.stringify(data ?? {}));
      expect(
        found.filter((name) => !OF_DEPLOYMENTS.includes(name)),
        metadata.name,
      ).toEqual([]);
    }
  });

  test('do not appear in any row of the database, including events, outbox and idempotency records', async () => {
    const name = new URL(berth.databaseUrl).pathname.slice(1);
    const found = await asAdmin(name, async (client) => {
      const { rows } = await client.query<{ schema: string; name: string }>(
        `SELECT schemaname AS schema, tablename AS name FROM pg_tables
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
      );
      const filled: string[] = [];
      for (const table of rows) {
        const content = await client.query<{ text: string }>(
          `SELECT t::text AS text FROM "${table.schema}"."${table.name}" t`,
        );
        for (const { text } of content.rows) expect(search.found(text), table.name).toEqual([]);
        if (content.rows.length > 0) filled.push(table.name);
      }
      return filled;
    });
    expect(found).toEqual(
      expect.arrayContaining([
        'api_keys',
        'deployments',
        'events',
        'idempotency_keys',
        'integrations',
        'revisions',
        'secret_sets',
      ]),
    );
  });

  test('do not appear in the PostgreSQL log, which has every statement with its parameters', () => {
    const [log] = logFiles(server.stateDir ?? '');
    const text = log?.text ?? '';
    expect(text).toMatch(/INSERT INTO deployments/);
    // Parameters are written: the name of the deployment is one, and the failed statement's are, too.
    expect(text).toMatch(/[Pp]arameters: .*'stranded'/);
    expect(text).toMatch(/ERROR: .*duplicate key/);
    expect(search.found(text)).toEqual([]);
  });

  test('do not appear in the arguments of any process', () => {
    const lines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        } catch {
          // It has ended meanwhile.
          return '';
        }
      });
    expect(lines.filter((line) => line.includes(berth.stateDir)).length).toBeGreaterThanOrEqual(3);
    for (const line of lines) expect(search.found(line), line.slice(0, 80)).toEqual([]);
  });
});

test('keeps the deployment READY with the revision of the rollback', async () => {
  const { body: deployment } = await berth.call('GET', `/v2/deployments/${id}`);
  expect(isReady(deployment)).toBe(true);
});
