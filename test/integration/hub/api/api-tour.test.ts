/** docs/api.md, line by line: each command runs against a whole Berth and prints what the page says. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateSigningKey, keySet, parseSigningKeys } from '../../../../src/hub/registry/signing-key.ts';
import { type LocalRegistry, startRegistry } from '../../../cluster/images/registry.ts';
import { freePorts } from '../../../cluster/ports.ts';
import { startWholeBerth, type WholeBerth } from '../../harness/berth.ts';

interface Step {
  readonly line: number;
  readonly command: string;
  /** What the page shows below it. */
  readonly shown: string;
}

const page = readFileSync(fileURLToPath(new URL('../../../../docs/api.md', import.meta.url)), 'utf8');
const TIMEOUT_MS = 300_000;

/** The commands of all `console` blocks: `$ ` begins one, what follows is its output. */
function stepsOf(markdown: string): Step[] {
  const steps: { line: number; command: string; output: string[] }[] = [];
  let inside = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    if (text.startsWith('```')) inside = text === '```console';
    else if (inside && text.startsWith('$ '))
      steps.push({ line: index + 1, command: text.slice(2), output: [] });
    else if (inside) steps.at(-1)?.output.push(text);
  }
  return steps.map(({ line, command, output }) => ({ line, command, shown: output.join('\n') }));
}

/** What differs each time. */
function masked(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
}

const steps = stepsOf(page);
/** Ends the output of a step; no output holds it. */
const END = '\u001e';

let berth: WholeBerth;
let registry: LocalRegistry;
let folder: string;
let printed: string[] = [];

/** Runs all steps in one shell, so that what one sets the next can use. */
function runSteps(): Promise<string> {
  const script = steps.map(({ command }) => `{ ${command}\n} 2>&1\nprintf '\\036'\n`).join('');
  const env = {
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    BERTH_URL: berth.process().url,
    BERTH_API_KEY: berth.apiKey,
    CHECKOUT: process.cwd(),
  };
  return new Promise((resolve) => {
    const options = { cwd: folder, env, timeout: TIMEOUT_MS - 60_000 };
    execFile('bash', ['-c', script], options, (_error, stdout) => resolve(stdout));
  });
}

/** Starts a registry for uploads. Returns the settings of Berth. The page does not wait for builds, so none can run. */
async function startUploads(): Promise<Record<string, string>> {
  const [port = 0] = await freePorts(1);
  const host = `127.0.0.1:${port}`;
  const key = generateSigningKey();
  registry = await startRegistry({
    port,
    auth: {
      // The hub signs its own tokens. No other client uses the registry.
      realm: 'http://127.0.0.1:1/v2/registry/token',
      service: host,
      issuer: 'berth',
      jwks: JSON.stringify(keySet(parseSigningKeys(key))),
      signingAlgorithms: ['ES256'],
    },
  });
  return {
    BERTH_REGISTRY: host,
    BERTH_REGISTRY_SIGNING_KEY: key.replaceAll('\n', '\\n'),
    BERTH_PUBLIC_URL: 'http://localhost:8080',
    BERTH_BUILDS: 'true',
    BERTH_BUILD_INSECURE_REGISTRY: 'true',
    BERTH_BUILD_NODE_SELECTOR: 'berth.dev/no-such-node=true',
  };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-tour-'));
  berth = await startWholeBerth('tour', { settings: await startUploads() });
  printed = (await runSteps()).split(END);
}, TIMEOUT_MS);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await Promise.all([berth?.stop(), registry?.stop()]);
});

test('the page has more than 40 commands', () => {
  expect(steps.length).toBeGreaterThan(40);
});

test.each(steps.map((step, index) => ({ ...step, index })))(
  'line $line prints what the page shows: $command',
  ({ index, shown }) => {
    // A step that was never reached has no output at all, not an empty one.
    const output = index < printed.length - 1 ? printed[index] : undefined;
    expect(output === undefined ? 'the step before did not end' : masked(output.trimEnd())).toBe(
      masked(shown.trimEnd()),
    );
  },
);
