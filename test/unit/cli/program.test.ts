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
  ...options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? '', 'x']),
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
    ['export', 'completion', 'version', 'login', 'context use', 'context delete', 'deployments watch'],
    ['listeners delete', 'integrations delete', 'integrations delete-webhook-secret', 'tags delete'],
    ['tags delete-value', 'tracing-projects delete', 'tenants delete', 'api-keys revoke'],
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

test('prints the help of a command with help COMMAND', async () => {
  expect(await runCli(['help', 'revisions'])).toBe(0);
  expect(printed.join('\n')).toMatch(/^Usage: berth revisions /);
});
