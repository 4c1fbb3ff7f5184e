import { expect, test } from 'vitest';
import { HELP, roleHelp, settingsHelp } from '../../../src/cli/help.ts';
import { SETTINGS } from '../../../src/config/index.ts';

test('config --help names every setting, and its default', () => {
  const text = settingsHelp();
  for (const name of Object.keys(SETTINGS)) expect(text).toMatch(new RegExp(`^  ${name} `, 'm'));
  expect(text).toMatch(/BERTH_PORT .*\(default: 8080\)/);
  expect(text).toMatch(/BERTH_HOSTING .*\(default: self_hosted\)/);
  expect(text).not.toMatch(/DATABASE_URL .*\(default/);
  expect(text).not.toMatch(/default: (undefined|null)?\)/);
});

test.each([
  ['api', ['DATABASE_URL', 'BERTH_PORT'], ['KUBECONFIG', 'BERTH_HUB_URL']],
  [
    'listener',
    ['BERTH_HUB_URL', 'BERTH_HUB_CA', 'BERTH_LISTENER_KEY', 'KUBECONFIG'],
    ['DATABASE_URL', 'BERTH_POLICY'],
  ],
  [
    'operator',
    ['BERTH_OPERATOR_KUBECONFIG', 'BERTH_NAMESPACES'],
    ['DATABASE_URL', 'BERTH_HUB_URL', 'BERTH_LISTENER_KEY'],
  ],
  ['all', Object.keys(SETTINGS), []],
] as const)(
  '%s --help shows the usage of that role and only the settings that it reads',
  (role, read, others) => {
    const text = roleHelp(role);
    expect(text).toMatch(new RegExp(`^usage: berth ${role}\n`));
    const named = [...text.matchAll(/^ {2}([A-Z_]+) /gm)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining([...read]));
    expect(named.filter((name) => others.includes(name as never))).toEqual([]);
  },
);

test('the common help page names each command', () => {
  for (const command of [
    'api',
    'listener',
    'listener doctor',
    'operator',
    'all',
    'migrate',
    'keys',
    'tracing',
    'config',
    'version',
  ]) {
    expect(HELP).toMatch(new RegExp(`^  ${command} {2}`, 'm'));
  }
});
