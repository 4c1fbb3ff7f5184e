/**
 * Property-based fuzzing of the running API against its own OpenAPI document: no 5xx, no status that is not
 * documented, no answer that breaks its schema, nothing taken that the document refuses.
 * `npm run fuzz -- --seconds N` runs longer, with another seed each time.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GitHost } from '../../src/domain/git-host.ts';
import { type ApiFixture, startApi } from '../integration/harness/api.ts';
import { fuzz, hasPython, schemathesis } from './schemathesis.ts';

const SECONDS = Number(process.env['BERTH_TEST_FUZZ_SECONDS'] ?? 60);
const SEED = Number(process.env['BERTH_TEST_FUZZ_SEED'] ?? 1);
/** Starting Python, PostgreSQL and the install come on top. */
const TIMEOUT_MS = (SECONDS + 400) * 1000;

const python = await hasPython();
if (!python) console.warn('python3 is not installed: the API is not fuzzed against its document');

/** Nothing outside this machine is called: a git host with one repository. */
const gitHost: GitHost = {
  allowsPrivate: false,
  listRepositories: async ({ hostUrl }) => [
    { fullName: 'shop/web', url: `${hostUrl}/shop/web`, defaultBranch: 'main', isPrivate: true },
  ],
};

let api: ApiFixture;
let url: string;
let st: string;
beforeAll(async () => {
  if (!python) return;
  st = await schemathesis();
  api = await startApi({ deps: { gitHost } });
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
}, TIMEOUT_MS);
afterAll(() => api?.stop());

/** What the API itself logged of its faults since the last time: the stack that an answer does not show. */
function faults(): string {
  const errors = api.store.logger.lines.splice(0).filter(({ level }) => level === 'error');
  return errors.map(({ message, fields }) => `${message}: ${JSON.stringify(fields)}`).join('\n');
}

test.skipIf(!python).each([
  ['boundary values of every field and parameter', ['examples', 'coverage'], 0.4],
  ['random requests', ['fuzzing'], 0.3],
  ['chains of requests', ['stateful'], 0.3],
])(
  '%s get what the document says',
  async (_what, phases, part) => {
    const { key: apiKey, tenantId } = await api.tenant();
    const seconds = Math.ceil(SECONDS * part);
    const { code, output } = await fuzz(st, { url, apiKey, tenantId, phases, seed: SEED, seconds });
    const logged = faults();
    expect(code, `${output}\n${logged}`).toBe(0);
    expect(logged).toBe('');
  },
  TIMEOUT_MS,
);
