/** The commands of the package berth-cli. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { processHost, runCommandLine } from '../../../src/cli/command-line.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { completionNodes } from '../../../src/cli/completion/tree.ts';
import { PACKAGED } from '../../../src/cli/package/commands.ts';
import { SERVER_COMMANDS } from '../../../src/cli/server-commands.ts';

const host = () => processHost(PACKAGED, []);
const run = (...words: string[]) => runCommandLine(words, host());

let printed: string[] = [];
beforeEach(() => {
  printed = [];
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text) => void printed.push(String(text)));
});
afterEach(() => vi.restoreAllMocks());

test('has the rows of the whole program', () => {
  const names = (rows: readonly { name: string }[]) => rows.map(({ name }) => name).sort();
  expect(names(PACKAGED.rows)).toEqual(names(COMMANDS));
});

test.each(SERVER_COMMANDS)('berth $name says that it is in the image', async ({ name }) => {
  expect(await run(name, 'sub', '--option=sk_canary')).toBe(2);
  expect(printed).toEqual([
    `berth: berth ${name} is not in the package berth-cli: run it with the image of Berth (docker run --rm IMAGE ${name} …); see berth ${name} --help`,
  ]);
  printed.length = 0;
  expect(await run(name, '--help')).toBe(0);
  expect(printed.join('\n')).toContain(`docker run --rm IMAGE ${name}`);
});

test('does not list, suggest or complete commands that it does not have', async () => {
  expect(await run('--help')).toBe(0);
  expect(printed.join('\n')).not.toMatch(/^(Server|Administration):|^ {2}(api|keys) /m);
  printed.length = 0;
  expect(await run('migrat')).toBe(2);
  expect(printed.join('\n')).not.toContain('Did you mean');
  const paths = completionNodes(await host().allCommands()).map(({ path }) => path);
  expect(paths).toContain('deployments list');
  expect(paths.filter((path) => SERVER_COMMANDS.some(({ name }) => path.startsWith(`${name} `)))).toEqual([]);
  expect(paths).not.toContain('keys');
});

test.each([
  ['20.19.0', 2],
  ['22.11.0', 2],
  ['22.12.0', 0],
])('checks the version of Node in one line: %s', (version, code) => {
  const versions = `{ value: { ...process.versions, node: '${version}' } }`;
  const pretend = `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`;
  const main = fileURLToPath(new URL('../../../src/cli/package/main.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, ['--import', pretend, main, '--version'], {
    encoding: 'utf8',
  });
  expect(status).toBe(code);
  expect(stderr).toBe(
    code === 0 ? '' : `berth: this is Node ${version}; next: install Node 22.12 or newer\n`,
  );
});
