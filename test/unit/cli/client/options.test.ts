import { expect, test } from 'vitest';
import { ClientUsageError } from '../../../../src/cli/client/context.ts';
import { DEPLOYMENTS_HELP } from '../../../../src/cli/client/deployments-command.ts';
import { readWords } from '../../../../src/cli/client/options.ts';
import { REVISIONS_HELP } from '../../../../src/cli/client/revisions-command.ts';

/** Every command that a help page names, with the options of its own. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'deployments list': ['--status=READY', '--name-contains=a'],
  'deployments get': [],
  'deployments create': ['--file=a', '-fa', '--wait', '--timeout=5'],
  'deployments patch': ['--file=a', '-fa', '--wait', '--timeout=5'],
  'deployments delete': ['--delete-tracing-project', '--wait', '--timeout=5'],
  'deployments watch': ['--timeout=5'],
  'deployments push-token': [],
  'revisions list': [],
  'revisions get': [],
  'revisions explain': [],
  'revisions rollback': ['--wait', '--timeout=5'],
  'revisions redeploy': ['--wait', '--timeout=5'],
  'revisions build-logs': ['--follow'],
  logs: ['--component=api', '--revision=1', '--since=10m', '--limit=5', '--follow', '--previous'],
};
const COMMON = ['--output=json', '-ojson', '--url=http://a', '--help', '-h'];
const EVERY = [...new Set([...Object.values(COMMANDS).flat(), ...COMMON, '--nonsense', '-x', '--no-wait'])];

test('the commands of this test are those of the help pages', () => {
  const named = (resource: string, help: string) =>
    [...help.matchAll(/^ {2}([a-z-]+) /gm)].map(([, verb]) => `${resource} ${verb}`);
  expect([...named('deployments', DEPLOYMENTS_HELP), ...named('revisions', REVISIONS_HELP), 'logs']).toEqual(
    Object.keys(COMMANDS),
  );
});

test.each(Object.entries(COMMANDS))(
  '%s accepts its own options and the common ones, and no other',
  (command, own) => {
    const words = command.split(' ');
    for (const option of [...own, ...COMMON])
      expect(readWords([...words, 'name', option]), option).toBeDefined();
    for (const option of EVERY.filter((each) => ![...own, ...COMMON].includes(each))) {
      const read = () => readWords([...words, 'name', option]);
      expect(read, option).toThrow(ClientUsageError);
      const name = option.replace(/=.*|(?<=^-f)a$/, '');
      expect(read, option).toThrow(
        new RegExp(`^berth ${command} does not have the option ${name}: remove it, or use one of .*--output`),
      );
    }
  },
);

test('reports each error in one line, also for an option without its value', () => {
  for (const words of [
    ['logs', 'a', '--since'],
    ['deployments', 'nonsense', '--x'],
    ['logs', '--follow=yes'],
  ]) {
    const read = () => readWords(words);
    expect(read).toThrow(/^[^\n]+$/);
  }
});

test('accepts --help together with any known option', () => {
  expect(readWords(['revisions', 'list', '--wait', '--help']).values.help).toBe(true);
});
