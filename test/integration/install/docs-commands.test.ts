/** The blocks of commands in README.md and docs/ that name this file: each runs in a shell against a whole Berth. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPES } from '../../../src/domain/core/api-key.ts';
import { waitFor } from '../../cluster/wait.ts';
import { allShellBlocks, root, textOf } from '../../docs/pages.ts';
import { runBerth } from '../../installation/berth-process.ts';
import { smallDeployment, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { environment } from '../harness/environment.ts';

const THIS = 'test/integration/install/docs-commands.test.ts';
const blocks = allShellBlocks().filter(({ marker }) => marker?.what === THIS);

let berth: WholeBerth;
/** Of the tenant "shop", for everything. */
let adminKey: string;
let oldKey: string;
let folder: string;
let variables: NodeJS.ProcessEnv;

async function newKey(name: string, scopes: string): Promise<string> {
  const words = ['keys', 'create', '--tenant', 'shop', '--name', name, '--scopes', scopes, '-o', 'json'];
  return JSON.parse(await runBerth(berth.stateDir, words, berth.settings)).api_key;
}

function call(key: string, path: string, body?: object): Promise<Response> {
  return fetch(new URL(path, berth.process().url), {
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
}

/** `berth`, `kubectl` and Node 24 as the pages call them; `.berth/demo.env` as the demo leaves it. */
function prepare(): void {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const program = `#!/bin/sh\nexec "${process.execPath}" "${join(root, 'src/main.ts')}" "$@"\n`;
  writeFileSync(join(bin, 'berth'), program);
  chmodSync(join(bin, 'berth'), 0o755);
  symlinkSync(environment().kubectlPath, join(bin, 'kubectl'));
  mkdirSync(join(folder, '.berth'));
  const url = berth.process().url;
  writeFileSync(join(folder, '.berth/demo.env'), `BERTH_URL=${url}\nBERTH_API_KEY=${adminKey}\n`);
  const { DATABASE_URL, BERTH_ENCRYPTION_KEYS } = berth.settings;
  variables = {
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: folder,
    KUBECONFIG: environment().kubeconfigPath,
    DATABASE_URL,
    BERTH_ENCRYPTION_KEYS,
    BERTH_URL: url,
    BERTH_API_KEY: adminKey,
    BERTH_REGISTRY: 'registry.example.com',
    BERTH_PUBLIC_URL: 'https://berth.example.com',
  };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
  berth = await startWholeBerth('docs');
  adminKey = await newKey('admin', SCOPES.join(','));
  oldKey = await newKey('ci-2026', 'deployments:read');
  prepare();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await berth?.stop();
});

interface Expected {
  /** More variables that the page says are there. */
  readonly given?: () => Promise<Record<string, string>>;
  /** What it prints. */
  readonly prints: RegExp;
  /** What is true afterwards. */
  readonly after?: () => Promise<unknown>;
}

/** By words that the block holds. */
const EXPECTED: Readonly<Record<string, Expected>> = {
  'demo.env': {
    // Nobody waits between its two commands: kubectl has something to show all the same.
    given: async () => {
      const { id } = await berth.create(smallDeployment('before'));
      await berth.ready(id);
      return {};
    },
    prints: /"name":"hello"[\s\S]*NAMESPACE +NAME/,
    after: async () => {
      const answer = await call(adminKey, '/v2/deployments?name=hello');
      expect(((await answer.json()) as { resources: unknown[] }).resources).toHaveLength(1);
      const names = async () => (await berth.get('mdep')).items.map(({ metadata }) => metadata.name);
      await waitFor(
        'kubectl to show it',
        async () => (await names()).some((name) => name.startsWith('hello-')),
        {
          timeoutMs: 30_000,
        },
      );
    },
  },
  'webhook-secret': {
    given: async () => {
      const host = { provider: 'github', host_url: 'https://github.com' };
      const body = { name: 'hooks', ...host, token: 'example-token' };
      const { id } = (await (await call(adminKey, '/v2/integrations', body)).json()) as { id: string };
      return { INTEGRATION: id };
    },
    prints: /"url":"[^"]*\/v2\/webhooks\/[^"]+","secret":"whsec_/,
  },
  sha256sum: {
    given: async () => ({ DEPLOYMENT_ID: '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77', GENERATION: '1' }),
    prints: /^[0-9a-f]{32}\n$/,
  },
  'keys registry': { prints: /BEGIN PRIVATE KEY[\s\S]*"keys"/ },
  'rotate-encryption': { prints: /\btest\b/ },
  'keys create': {
    prints: /^$/,
    after: () =>
      waitFor(
        'the old key to be refused',
        async () => (await call(oldKey, '/v2/deployments')).status === 401,
        {
          timeoutMs: 30_000,
        },
      ),
  },
};

test('has one expectation for each block of the docs', () => {
  const words = Object.keys(EXPECTED);
  const matches = blocks.map(({ text }) => words.filter((word) => text.includes(word)));
  expect(matches.flat().sort()).toEqual([...words].sort());
});

test('the API accepts the first deployment of install.md', async () => {
  const [, body = ''] = /-d '(\{"name": "hello"[^']+\})'/.exec(textOf('docs/install.md')) ?? [];
  const answer = await call(adminKey, '/v2/deployments', { ...JSON.parse(body), name: 'installed' });
  expect(answer.status, await answer.clone().text()).toBe(201);
});

test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
  'runs the commands at %s, which print the expected output',
  async (_, { text }) => {
    const [, expected] = Object.entries(EXPECTED).find(([word]) => text.includes(word)) ?? [];
    const env = { ...variables, ...(await expected?.given?.()) };
    const run = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', text], { cwd: folder, env });
    expect((await run).stdout).toMatch(expected?.prints ?? /$^/);
    await expected?.after?.();
  },
);
