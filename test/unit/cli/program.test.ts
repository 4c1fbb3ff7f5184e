/** The tree of commands: help, options and wrong usage of every command. */
import type { Command } from 'commander';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pathOf } from '../../../src/cli/command/command.ts';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { processHost, runCli } from '../../../src/cli/run.ts';

const program = await buildProgram(null, processHost([]));

function withDescendants(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withDescendants)];
}
const all = withDescendants(program);
const leaves = all.filter(({ commands }) => commands.length === 0);
const rows = (commands: readonly Command[]) => commands.map((command) => [pathOf(command), command] as const);
const wordsOf = (command: Command) => pathOf(command).split(' ').slice(1);

/** Arguments and options that satisfy the command, so that only the tested option is wrong. */
const argumentsOf = ({ registeredArguments, options }: Command) => [
  ...registeredArguments.filter(({ required }) => required).map(({ argChoices }) => argChoices?.[0] ?? 'x'),
  ...options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, argChoices }) => [long ?? '', argChoices?.[0] ?? 'x']),
];

let printed: string[] = [];
beforeEach(() => {
  printed = [];
  for (const stream of ['log', 'error'] as const)
    vi.spyOn(console, stream).mockImplementation((text) => void printed.push(String(text)));
});
afterEach(() => vi.restoreAllMocks());

test.each(rows(all))('%s prints its usage with --help', async (path, command) => {
  const isGroup = command.commands.length > 0;
  expect(await runCli([...wordsOf(command), '--help'])).toBe(0);
  expect(printed.join('\n')).toMatch(new RegExp(`^Usage: ${path} `));
  expect(command.summary()).toMatch(/^[a-z].*[^.]$|^the command line of Berth$/);
  if (isGroup)
    for (const child of command.commands) expect(printed.join('\n')).toContain(child.summary().slice(0, 20));
});

test.each(rows(leaves))('%s rejects an unknown option in one line', async (path, command) => {
  const words = [...wordsOf(command), ...argumentsOf(command), '--nonsense'];
  expect(await runCli(words)).toBe(2);
  expect(printed).toEqual([
    expect.stringMatching(new RegExp(`^berth: unknown option '--nonsense'[^\n]+; see ${path} --help$`)),
  ]);
});

test.each(rows(leaves.filter(({ options }) => !options.some(({ long }) => long === '--wait'))))(
  '%s rejects --wait, because it does not wait',
  async (_path, command) => {
    expect(await runCli([...wordsOf(command), ...argumentsOf(command), '--wait'])).toBe(2);
    expect(printed.join('\n')).toContain("unknown option '--wait'");
  },
);

test('offers the formats on every command that lists or shows something', () => {
  // Their output is no object: processes, scripts, manifests, or only progress on standard error.
  const WITHOUT = [
    ['api', 'operator', 'all', 'migrate', 'build-step source', 'build-step result', 'tracing resync'],
    ['build-step upload'],
    ['export', 'completion', 'version', 'login', 'context use', 'context delete', 'deployments watch'],
    ['listeners delete', 'integrations delete', 'integrations delete-webhook-secret', 'tags delete'],
    ['tags delete-value', 'tracing-projects delete', 'tenants delete', 'api-keys revoke'],
    ['logout', 'tokens revoke', 'people sign-out'],
  ];
  const hasFormats = ({ options }: Command) =>
    options.some(({ long, argChoices }) => long === '--output' && argChoices?.includes('json'));
  const without = leaves.filter((command) => !hasFormats(command));
  expect(without.map((command) => wordsOf(command).join(' ')).sort()).toEqual(WITHOUT.flat().sort());
});

test.each([
  [['deployments', 'list', '--staus', 'READY'], '(Did you mean --status?)'],
  [['revisions', 'rollbak', 'a', '1'], '(Did you mean rollback?)'],
  [['deploymnts'], '(Did you mean deployments?)'],
  [['deploy', 'a', '--imag', 'b'], '(Did you mean --image?)'],
])('names the nearest word: %j', async (words, suggestion) => {
  expect(await runCli(words)).toBe(2);
  expect(printed.join('\n')).toContain(suggestion);
});

test('loads only the modules of the command that runs', async () => {
  const built = await buildProgram(['version'], processHost([]));
  const loaded = built.commands.filter(({ commands, options }) => commands.length + options.length > 0);
  expect(loaded.map((command) => command.name())).toEqual([]);
  expect(built.commands.map((command) => command.name())).toEqual(COMMANDS.map(({ name }) => name));
});

test('prints the help of a group that is called without a command', async () => {
  expect(await runCli(['deployments'])).toBe(0);
  expect(printed.join('\n')).toMatch(/^Usage: berth deployments /);
  printed.length = 0;
  expect(await runCli([])).toBe(0);
  expect(printed.join('\n')).toMatch(/^Usage: berth /);
});

test.each([
  [['events', '--limit', '0'], '--limit must be a whole number of at least 1, not "0"', 'berth events'],
  [['events', '--since', 'yesterday'], '--since must be a time or a duration', 'berth events'],
  [['logs', 'a', '--limit', '20000'], '--limit must be a whole number from 1 to 10000', 'berth logs'],
  [['revisions', 'rollback', 'a', '1', '--timeout', '0'], '--timeout must be', 'berth revisions rollback'],
  [
    ['deployments', 'create', '-f', '--wait'],
    "'-f, --file <file>' needs a value",
    'berth deployments create',
  ],
  [['deployments', 'list', '-o', 'xml'], 'Allowed choices are table', 'berth deployments list'],
])('names the reason and the help of the command: %j', async (words, reason, page) => {
  expect(await runCli(words)).toBe(2);
  expect(printed).toHaveLength(1);
  expect(printed[0]).toContain(reason);
  expect(printed[0]).toMatch(new RegExp(`; see ${page} --help$`));
});

test('rejects help of an unknown command', async () => {
  expect(await runCli(['help', 'nonsense'])).toBe(2);
  expect(printed).toEqual([`berth: unknown command 'nonsense'; see berth --help`]);
});

test.each([
  [['help', 'deployments', 'list'], 'berth deployments list'],
  [['deployments', 'help', 'list'], 'berth deployments list'],
  [['help', 'deploy'], 'berth deploy'],
])('prints the help of a subcommand when it is asked for: %j', async (words, path) => {
  expect(await runCli(words)).toBe(0);
  expect(printed.join('\n')).toMatch(new RegExp(`^Usage: ${path} `));
});

test.each([
  [['help', 'deployments', 'nonsense'], "unknown command 'nonsense'; see berth deployments --help"],
  [['deployments', 'help', 'nonsense'], "unknown command 'nonsense'; see berth deployments --help"],
])('rejects help of an unknown subcommand: %j', async (words, message) => {
  expect(await runCli(words)).toBe(2);
  expect(printed).toEqual([`berth: ${message}`]);
});

test.each([
  [['login', '--api-key=sk_canary'], "unknown option '--api-key'"],
  [['login', "--api-key=sk_canary'\n(Did you mean --sk_canary?)"], "unknown option '--api-key'"],
  [['login', '-ksk_canary'], "unknown option '-k'"],
  [['login', '--key-file', '--key=sk_canary'], 'needs a value, not --key;'],
  [['login', 'sk_canary'], 'too many arguments'],
  [['login', '--key-file=sk_canary', '--url', 'http://127.0.0.1:1'], 'the file of --key-file (ENOENT)'],
  [['integrations', 'update', 'x', '--token', 'tok_canary'], "unknown option '--token'"],
])('does not repeat a secret that was typed in the wrong place: %j', async (words, message) => {
  const settings = { url: undefined, apiKey: undefined, tenantId: undefined, configHome: '/nowhere' };
  const host = { ...processHost(words), clientSettings: async () => settings };
  expect(await runCli(words, host)).toBe(2);
  expect(printed.join('\n')).toContain(message);
  expect(printed.join('\n')).not.toContain('canary');
});

test.each([
  ['deployments', 'list', '--status', 'ready'],
  ['deployments', 'list', '--type', 'production'],
  ['logs', 'shop', '--component', 'web'],
  ['integrations', 'create', 'code', '--provider', 'bitbucket', '--host-url', 'https://code.example'],
  ['api-keys', 'create', 'ci', '--scopes', 'deployments:read,all'],
  ['keys', 'create', '--name', 'ci', '--platform', '--scopes', 'all'],
  ['deployments', 'delete', 'shop', '--force', '--keep-workloads'],
  ['tenants', 'create', 'a', '--cpu', '-1'],
  ['tenants', 'create', 'a', '--deployments', '1.5'],
  ['events', '-o', 'name'],
  ['whoami', '-o', 'name'],
  ['keys', 'rotate-encryption', '--dry-run', '--batch', '5'],
])('rejects a value that the API would reject: %s %s %s %s %s', async (...words) => {
  expect(await runCli(words)).toBe(2);
  expect(printed).toHaveLength(1);
});

test('prints the help of a command with help COMMAND', async () => {
  expect(await runCli(['help', 'revisions'])).toBe(0);
  expect(printed.join('\n')).toMatch(/^Usage: berth revisions /);
});
