import { expect, test } from 'vitest';
import { settingsHelp } from '../../../src/cli/admin/settings-help.ts';
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
] as const)('the help of %s shows only the settings that it reads', (role, read, others) => {
  const named = [...settingsHelp(role).matchAll(/^ {2}([A-Z_]+) /gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining([...read]));
  expect(named.filter((name) => others.includes(name as never))).toEqual([]);
});
