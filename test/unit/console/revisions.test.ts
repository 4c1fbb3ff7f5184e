import { describe, expect, test } from 'vitest';
import type { Revision } from '../../../src/console/api/types.ts';
import { differences, knowsSecrets } from '../../../src/console/revisions/differences.ts';
import { otherOf, revisionSelectionOf } from '../../../src/console/revisions/selection.ts';
import { revisionWith } from './revision-fixture.ts';

const config = (more: Partial<Revision['source_revision_config']>) => ({
  source_revision_config: { ...revisionWith().source_revision_config, ...more },
});

describe('differences', () => {
  test('is empty when the content is the same, whatever the status', () => {
    expect(differences(revisionWith(), revisionWith({ id: 'r2', number: 2, status: 'SKIPPED' }))).toEqual([]);
  });

  test('compares image, commit, port and variables by name, also if a value is empty', () => {
    const from = revisionWith(config({ port: 80, env: [{ name: 'A', value: '' }] }));
    const to = revisionWith(config({ image_uri: 'web:2', repo_commit_sha: 'c0ffee', env: [] }));
    expect(differences(from, to)).toEqual([
      { field: 'image_uri', from: 'web:1', to: 'web:2' },
      { field: 'repo_commit_sha', from: null, to: 'c0ffee' },
      { field: 'port', from: '80', to: null },
      { field: 'env.A', from: '', to: null },
    ]);
  });

  test('compares commands with their source, and references to Secrets', () => {
    const from = revisionWith({
      effective_commands: { api: { command: ['a b'], args: ['c'], source: 'procfile' } },
      secret_references: [{ name: 'KEY', secret_name: 'pay', secret_key: 'one' }],
    });
    const to = revisionWith({
      effective_commands: { api: { command: ['a', 'b c'], source: 'commands' } },
      secret_references: [{ name: 'KEY', secret_name: 'pay', secret_key: 'two' }],
    });
    expect(differences(from, to)).toEqual([
      { field: 'commands.api', from: '"a b" "c" (Procfile)', to: '"a" "b c"' },
      { field: 'secret_references.KEY', from: 'pay/one', to: 'pay/two' },
    ]);
  });

  test('compares names of secrets only when those of both are known', () => {
    const [one, two] = [revisionWith({ secret_names: ['A'] }), revisionWith({ secret_names: ['B'] })];
    expect(differences(one, two)).toEqual([
      { field: 'secrets.A', from: 'set', to: null },
      { field: 'secrets.B', from: null, to: 'set' },
    ]);
    expect(knowsSecrets(one, revisionWith())).toBe(false);
    expect(differences(one, revisionWith())).toEqual([]);
  });

  test('does not mix up a variable that is named like a field', () => {
    const to = revisionWith(config({ env: [{ name: '__proto__', value: 'x' }] }));
    expect(differences(revisionWith(), to)).toEqual([{ field: 'env.__proto__', from: null, to: 'x' }]);
  });
});

test('revisionSelectionOf keeps ids, and leaves out everything else', () => {
  const id = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
  expect(revisionSelectionOf({ from: id, to: '<b>', other: id })).toEqual({ from: id });
});

test('otherOf is the latest revision, or the one before the latest', () => {
  const all = ['r3', 'r2', 'r1'].map((id) => revisionWith({ id }));
  const [latest, , first] = all as [Revision, Revision, Revision];
  expect(otherOf(first, all, 'r3')).toBe('r3');
  expect(otherOf(latest, all, 'r3')).toBe('r2');
  expect(otherOf(first, [first], 'r1')).toBe('r1');
});
