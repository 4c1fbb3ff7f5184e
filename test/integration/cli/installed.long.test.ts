/** The package berth-cli as a user runs it: installed into an empty folder, on Node 22 and 24, against a running Berth. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type DeploymentAnswer, startWholeBerth, type WholeBerth } from '../harness/berth.ts';
import { hasTmux, terminal as openTerminal, type Run, runProgram } from './cli.ts';
import { type InstalledPackage, installPackage, supportedNodes } from './installed-package.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const VERSION = '0.1.0-test.1';
const INSTALL_MS = 240_000;

const nodes = await supportedNodes();

let berth: WholeBerth;
let installed: InstalledPackage;
beforeAll(async () => {
  installed = await installPackage(VERSION);
  berth = await startWholeBerth('installed', { settings: { BERTH_DELETION_GRACE: '3600' } });
}, INSTALL_MS);
afterAll(async () => {
  installed?.remove();
  await berth?.stop();
});

test('contains the files that npm packs from its folder, and nothing else', async () => {
  const folder = 'node_modules/berth-cli';
  const [packed] = JSON.parse(await installed.npm('pack', '--dry-run', '--json', `./${folder}`)) as [
    { files: { path: string }[]; bundled: string[] },
  ];
  const found = execFileSync('find', ['.', '-type', 'f'], {
    cwd: join(installed.folder, folder),
    encoding: 'utf8',
  });
  const paths = found.trim().split('\n');
  expect(packed.files.map(({ path }) => `./${path}`).sort()).toEqual(paths.sort());
  expect(packed.bundled.toSorted()).toEqual([
    'commander',
    'ignore',
    'modern-tar',
    'openapi-fetch',
    'openapi-typescript-helpers',
    'yaml',
  ]);
});

/** Code in the README of the package. */
function example(): string {
  const readme = readFileSync(join(installed.folder, 'node_modules/berth-cli/README.md'), 'utf8');
  return /```js\n(.*?)```/s.exec(readme)?.[1] ?? '';
}

test('has types for programs in TypeScript', async () => {
  const program = `${example().replaceAll(/process\.env\.(\w+)/g, "process.env['$1'] ?? ''")}
const made = await client.POST('/v2/tag-keys', { body: { key: 'team' } });
const id: string = made.id;
// @ts-expect-error: there is no such path
await client.GET('/v2/nonsense', {});
// @ts-expect-error: the key must be text
await client.POST('/v2/tag-keys', { body: { key: 1 } });
export { id };
`;
  writeFileSync(join(installed.folder, 'program.mts'), program);
  const words = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024'];
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [compiler, ...words, ...types, 'program.mts'];
  const ended = promisify(execFile)(process.execPath, args, { cwd: installed.folder });
  expect(await ended.catch((error: { stdout: string }) => error)).toMatchObject({ stdout: '' });
});

describe.each(nodes)('on Node $major', ({ major, folder: node }) => {
  let home: string;
  let env: Record<string, string> & { HOME: string };
  beforeEach(({ skip }) => {
    if (node === null) return skip(`Node ${major} is not available`);
    home = mkdtempSync(join(tmpdir(), 'berth-home-'));
    env = { HOME: home, PATH: installed.path(node) };
    return () => rmSync(home, { recursive: true, force: true });
  });

  /** Runs a command that must end with an exit code, and without a warning of Node. */
  async function run(code: number, words: readonly string[], input = ''): Promise<Run> {
    const ended = await runProgram(words, { input, env, program: installed.program });
    expect(ended, `${words.join(' ')}: ${ended.out}${ended.err}`).toMatchObject({ code });
    expect(ended.err).not.toMatch(/warning/i);
    return ended;
  }
  const login = () => run(0, ['login', '--url', berth.process().url, '--name', 'test'], `${berth.apiKey}\n`);
  const document = (name: string, image = '1.0.0', tags = '') =>
    `name: ${name}\nsource: external_image\nsource_config: {}\nsource_revision_config: {image_uri: "registry.example/shop/web:${image}"}\n${tags}`;

  test('prints its version, the completion of shells, and wrong usage', async () => {
    expect(execFileSync('node', ['--version'], { env, encoding: 'utf8' })).toMatch(`v${major}.`);
    expect(await run(0, ['--version'])).toMatchObject({ out: `${VERSION}\n`, err: '' });
    expect((await run(0, ['--help'])).out).not.toMatch(/^ {2}(api|keys) /m);
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out } = await run(0, ['completion', shell]);
      expect(out).toContain('tracing-projects');
      expect(out).not.toContain('upgrade-preview');
    }
    expect((await run(2, ['deployments', 'list', '--nonsense'])).err).toMatch(
      /^berth: unknown option '--nonsense'.*; see berth deployments list --help\n$/,
    );
    expect((await run(2, ['whoami'])).err).toContain('run berth login');
  });

  test('packs a folder with --dry-run', async () => {
    writeFileSync(join(home, '.gitignore'), 'b\n');
    for (const name of ['a', 'b']) writeFileSync(join(home, name), name);
    const { out, err } = await run(0, ['deploy', 'shop', home, '--dry-run', '-o', 'name']);
    expect(out).toBe('.gitignore\na\n');
    expect(err).toMatch(/sha256:[0-9a-f]{64}\. Nothing was sent\n$/);
  });

  test('prints where the commands of the server run', async () => {
    for (const words of [['api'], ['keys', 'create', '--name', 'ci'], ['listener', 'doctor']])
      expect((await run(2, words)).err).toMatch(
        new RegExp(`^berth: berth ${words[0]} is not in the package berth-cli: it .*(main\\.js|IMAGE) .*\n$`),
      );
    expect((await run(0, ['export', '--help'])).out).toContain(' IMAGE export …');
  });

  test('logs in, applies a file twice, shows differences, and lists deployments', async () => {
    await login();
    expect((await run(0, ['context', 'list', '-o', 'name'])).out).toBe('test\n');
    expect(JSON.parse((await run(0, ['whoami', '-o', 'json'])).out)).toMatchObject({ context: 'test' });
    const name = `shop-${major}`;
    const path = join(home, 'shop.yaml');
    writeFileSync(path, document(name, '1.0.0', 'tags: {team: payments}\n'));
    expect((await run(0, ['apply', '-f', path])).out).toMatch(new RegExp(`^${name} +created`, 'm'));
    expect((await run(0, ['apply', '-f', path])).out).toMatch(new RegExp(`^${name} +unchanged`, 'm'));
    expect((await run(0, ['diff', '-f', path])).out).not.toContain('→');
    writeFileSync(path, document(name, '2.0.0'));
    expect((await run(1, ['diff', '-f', path])).out).toContain('source_revision_config.image_uri');
    writeFileSync(path, `${document(name)}nonsense: true\n`);
    await run(2, ['diff', '-f', path]);
    const listed = parse((await run(0, ['deployments', 'list', '--name-contains', name, '-o', 'yaml'])).out);
    expect(listed).toMatchObject([{ name, image_version: '1.0.0' }]);
  });

  test('exports the client that the README of the package describes', async () => {
    await berth.create({ ...parse(document(`client-${major}`)), secrets: [] });
    writeFileSync(join(installed.folder, 'program.mjs'), example());
    const program = ['node', join(installed.folder, 'program.mjs')];
    const variables = { ...env, BERTH_URL: berth.process().url, BERTH_API_KEY: berth.apiKey };
    const ended = await runProgram([], { env: variables, program });
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out).toMatch(new RegExp(`^client-${major} [A-Z_]+$`, 'm'));
    const rejected = await runProgram([], { env: { ...variables, BERTH_API_KEY: 'wrong' }, program });
    expect(rejected).toMatchObject({ code: 1, err: expect.stringMatching(/^401 401: /) });
  });

  describe.skipIf(!hasTmux)('in a terminal', () => {
    const terminal = (...words: string[]) => openTerminal(words, env, installed.program);
    const shows = async (screen: () => string, text: string) =>
      expect.poll(screen, { timeout: 30_000 }).toContain(text);

    async function deployment(name: string): Promise<DeploymentAnswer> {
      const body = { ...parse(document(`${name}-${major}`)), secrets: [] };
      await login();
      return berth.create(body);
    }

    test('reads the key of a login and the value of a secret without echo', async () => {
      const { name } = await deployment('secret');
      const first = terminal('login', '--url', berth.process().url, '--name', 'typed');
      await shows(first.screen, 'API key:');
      first.type(berth.apiKey);
      first.press('Enter');
      await shows(first.screen, 'exit code 0\nterminal restored');
      expect(first.screen()).not.toContain(berth.apiKey.slice(0, 12));

      const second = terminal('secrets', 'set', name, 'TOKEN');
      await shows(second.screen, 'TOKEN:');
      second.type('canary-value');
      second.press('Enter');
      await shows(second.screen, 'exit code 0\nterminal restored');
      expect(second.screen()).not.toContain('canary');
      expect((await run(0, ['secrets', 'list', name, '-o', 'name'])).out).toBe('TOKEN\n');
    }, 120_000);

    test('ends at Ctrl-C in a hidden prompt with the exit code 130', async () => {
      const { press, screen } = terminal('login', '--url', berth.process().url);
      await shows(screen, 'API key:');
      press('C-c');
      await shows(screen, 'exit code 130\nterminal restored');
    }, 60_000);

    test.each([
      ['n', 130, 'nothing was deleted'],
      ['y', 0, 'is being deleted'],
    ])(
      'asks before it deletes, and takes %j for an answer',
      async (answer, code, text) => {
        const { id, name } = await deployment(`deleted-${answer}`);
        const { type, press, screen } = terminal('deployments', 'delete', name);
        await shows(screen, `Delete the deployment "${name}" with its database and cache? [y/N]`);
        type(answer);
        press('Enter');
        await shows(screen, `exit code ${code}\nterminal restored`);
        expect(screen()).toContain(text);
        const { body } = await berth.call('GET', `/v2/deployments/${id}`);
        expect(body.status === 'AWAITING_DELETE').toBe(code === 0);
      },
      60_000,
    );

    test('prints each step of a wait until the deployment is READY', async () => {
      await login();
      const path = join(home, 'app.yaml');
      writeFileSync(path, document(`waited-${major}`));
      const { screen } = terminal('apply', '-f', path, '--wait');
      await shows(screen, 'exit code 0\nterminal restored');
      expect(screen()).toMatch(new RegExp(`^waited-${major}: AWAITING_DATABASE`, 'm'));
      expect(screen()).toContain(`waited-${major} is READY with its latest revision active`);
    }, 90_000);

    test('ends at Ctrl-C during a wait with the exit code 130, and the deployment continues', async () => {
      await login();
      const path = join(home, 'app.yaml');
      writeFileSync(path, document(`stopped-${major}`));
      const { press, screen } = terminal('apply', '-f', path, '--wait');
      await shows(screen, `stopped-${major}: AWAITING_DATABASE`);
      press('C-c');
      await shows(screen, 'exit code 130\nterminal restored');
      const { out } = await run(0, [
        'deployments',
        'list',
        '--name-contains',
        `stopped-${major}`,
        '-o',
        'name',
      ]);
      expect(out).toBe(`stopped-${major}\n`);
    }, 90_000);
  });
});
