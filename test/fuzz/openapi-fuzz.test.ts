/**
 * Property-based fuzzing of the running API against its own OpenAPI document, in both hosting modes: no 5xx, no status
 * that is not documented, no answer that breaks its schema, nothing taken that the document refuses; and every
 * operation is got through at least once, so that what is behind its checks was tried.
 * `npm run fuzz -- --seconds N` runs longer, with another seed each time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitHost } from '../../src/domain/builds/git-host.ts';
import { type OpenApiDocument, operationsOf } from '../../src/hub/api/openapi/openapi-types.ts';
import { pythonMinor } from '../cluster/python-venv.ts';
import { type ApiFixture, startApi } from '../integration/harness/api.ts';
import { asToml, inventory } from './inventory.ts';
import { forListener, startListener } from './listener.ts';
import { fuzz, schemathesis } from './schemathesis.ts';

/** Of both hosting modes together. */
const SECONDS = Number(process.env['BERTH_TEST_FUZZ_SECONDS'] ?? 75);
const SEED = Number(process.env['BERTH_TEST_FUZZ_SEED'] ?? 1);
const MODES = ['self_hosted', 'cloud'] as const;
const BOUNDARIES = ['examples', 'coverage'] as const;
/** Phases of Schemathesis with their part of the time: boundary values, random requests, chains of requests. */
const RUNS = [
  { phases: BOUNDARIES, part: 0.6, ifMissed: false },
  { phases: ['fuzzing'], part: 0.2, ifMissed: false },
  { phases: ['stateful'], part: 0.2, ifMissed: false },
  // On a busy machine they do not reach every operation in that time. These runs call only the missed operations.
  { phases: BOUNDARIES, part: 1.2, ifMissed: true },
  { phases: BOUNDARIES, part: 2.4, ifMissed: true },
] as const;
/** Starting Python, PostgreSQL and the install come on top. */
const TIMEOUT_MS = (SECONDS + 400) * 1000;
/** A lease that was taken is held, and a deletion can be taken back, for the whole run. */
const DAY_SECONDS = 24 * 3600;

const python = (await pythonMinor()) !== null;
if (!python) console.warn('python3 is not installed: the API is not fuzzed against its document');

/** What does not succeed here. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  // Left out in schemathesis.toml, with the reasons.
  'POST /v2/webhooks/{integration_id}',
  'GET /v2/registry/token',
  'POST /v2/registry/token',
  // Need an identity provider, a session, or an access token: sign-in.test.ts and access-tokens.test.ts.
  'POST /v2/auth/token',
  'GET /v2/auth/token',
  'DELETE /v2/auth/token',
  'POST /v2/auth/device',
  'GET /v2/auth/device/{user_code}',
  'POST /v2/auth/device/{user_code}',
  'GET /v2/auth/session',
  'POST /v2/auth/key-session',
  'POST /v2/auth/sign-out',
  // Needs a registry of the platform that stores artifacts: test/integration/builds/uploads.test.ts.
  'POST /v2/deployments/{deployment_id}/sources',
  // Needs a registry of the platform, which would refuse all images that requests are made with: api-registry-token.test.ts.
  'POST /v2/deployments/{deployment_id}/push-token',
]);

/** Nothing outside this machine is called: a git host with one repository. */
const gitHost: GitHost = {
  allowsPrivate: false,
  listRepositories: async ({ hostUrl }) => [
    { fullName: 'shop/web', url: `${hostUrl}/shop/web`, defaultBranch: 'main', isPrivate: true },
  ],
  branchHeads: async (_access, branches) => branches.map(() => null),
};

let st: string;
beforeAll(async () => {
  if (python) st = await schemathesis();
}, TIMEOUT_MS);

/** `METHOD path` of every operation of the document. */
async function operationsAt(url: string): Promise<string[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  return operationsOf(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
}

describe.skipIf(!python).each(MODES)('the API in %s mode', (hosting) => {
  const succeeded = new Set<string>();
  let api: ApiFixture;
  let url: string;
  let listener: Awaited<ReturnType<typeof startListener>>;
  beforeAll(async () => {
    const listening = forListener();
    api = await startApi({
      hosting,
      deps: {
        ...listening,
        gitHost,
        leaseSeconds: 4 * DAY_SECONDS,
        deletionGraceSeconds: DAY_SECONDS,
      },
      onAnswer: (method, path, status) => {
        if (status < 300) succeeded.add(`${method} ${path?.replace(/:(\w+)/g, '{$1}')}`);
      },
    });
    url = await api.app.listen({ host: '127.0.0.1', port: 0 });
    listener = await startListener(api, listening);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await listener?.stop();
    await api?.stop();
  });

  /** What the API itself logged of its faults since the last time: the stack that an answer does not show. */
  function faults(): string {
    const errors = api.store.logger.lines.splice(0).filter(({ level }) => level === 'error');
    return errors.map(({ message, fields }) => `${message}: ${JSON.stringify(fields)}`).join('\n');
  }

  test(
    'responds as its OpenAPI document states, and every operation succeeds at least once',
    async () => {
      const operations = await operationsAt(url);
      const missed = () =>
        operations.filter((operation) => !succeeded.has(operation) && !LEFT_OUT.has(operation));
      const things = [];
      for (const run of RUNS) things.push({ ...run, ...(await inventory(api)) });
      succeeded.clear();
      for (const { phases, part, ifMissed, client, pins } of things) {
        if (ifMissed && missed().length === 0) continue;
        const seconds = Math.ceil((SECONDS / MODES.length) * part);
        const only = ifMissed ? missed() : [];
        const { key: apiKey, tenantId } = client;
        const request = { url, apiKey, tenantId, phases, only, seed: SEED, seconds };
        const { code, output } = await fuzz(st, { ...request, parameters: asToml(pins) });
        const logged = faults();
        expect(code, `${output}\n${logged}`).toBe(0);
        expect(logged).toBe('');
      }
      expect(missed(), 'operations that never succeeded').toEqual([]);
    },
    TIMEOUT_MS,
  );
});
