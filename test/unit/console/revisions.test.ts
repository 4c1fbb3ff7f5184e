import { describe, expect, test } from 'vitest';
import type { Revision } from '../../../src/console/api/types.ts';
import { differences, knowsSecrets } from '../../../src/console/revisions/differences.ts';
import { otherOf, revisionSelectionOf } from '../../../src/console/revisions/selection.ts';

const AT = '2026-01-15T09:00:00.000Z';

function revision(more: Partial<Revision> = {}): Revision {
  return {
    id: 'r1',
    deployment_id: 'd1',
    number: 1,
    status: 'DEPLOYED',
    reason: null,
    message: null,
    source_revision_config: {
      repo_ref: null,
      workflow_config_path: null,
      image_uri: 'web:1',
      repo_commit_sha: null,
    },
    resolved_image: null,
    build: null,
    created_at: AT,
    updated_at: AT,
    deployed_at: AT,
    ...more,
  };
}
const config = (more: Partial<Revision['source_revision_config']>) => ({
  source_revision_config: { ...revision().source_revision_config, ...more },
});

describe('differences', () => {
  test('is empty when the content is the same, whatever the status', () => {
    expect(differences(revision(), revision({ id: 'r2', number: 2, status: 'SKIPPED' }))).toEqual([]);
  });

  test('compares image, commit, port and variables by name, also if a value is empty', () => {
    const from = revision(config({ port: 80, env: [{ name: 'A', value: '' }] }));
    const to = revision(config({ image_uri: 'web:2', repo_commit_sha: 'c0ffee', env: [] }));
    expect(differences(from, to)).toEqual([
      { field: 'image_uri', from: 'web:1', to: 'web:2' },
      { field: 'repo_commit_sha', from: null, to: 'c0ffee' },
      { field: 'port', from: '80', to: null },
      { field: 'env.A', from: '', to: null },
    ]);
  });

  test('compares commands with their source, and references to Secrets', () => {
    const from = revision({
      effective_commands: { api: { command: ['a b'], args: ['c'], source: 'procfile' } },
      secret_references: [{ name: 'KEY', secret_name: 'pay', secret_key: 'one' }],
    });
    const to = revision({
      effective_commands: { api: { command: ['a', 'b c'], source: 'commands' } },
      secret_references: [{ name: 'KEY', secret_name: 'pay', secret_key: 'two' }],
    });
    expect(differences(from, to)).toEqual([
      { field: 'commands.api', from: '"a b" "c" (Procfile)', to: '"a" "b c"' },
      { field: 'secret_references.KEY', from: 'pay/one', to: 'pay/two' },
    ]);
  });

  test('compares names of secrets only when those of both are known', () => {
    const [one, two] = [revision({ secret_names: ['A'] }), revision({ secret_names: ['B'] })];
    expect(differences(one, two)).toEqual([
      { field: 'secrets.A', from: 'set', to: null },
      { field: 'secrets.B', from: null, to: 'set' },
    ]);
    expect(knowsSecrets(one, revision())).toBe(false);
    expect(differences(one, revision())).toEqual([]);
  });

  test('does not mix up a variable that is named like a field', () => {
    const to = revision(config({ env: [{ name: '__proto__', value: 'x' }] }));
    expect(differences(revision(), to)).toEqual([{ field: 'env.__proto__', from: null, to: 'x' }]);
  });
});

test('revisionSelectionOf keeps ids, and leaves out everything else', () => {
  const id = '0196f0a0-5c1e-7b3a-9d51-0c4f6f1c2a77';
  expect(revisionSelectionOf({ from: id, to: '<b>', other: id })).toEqual({ from: id });
});

test('otherOf is the latest revision, or the one before the latest', () => {
  const all = ['r3', 'r2', 'r1'].map((id) => revision({ id }));
  const [latest, , first] = all as [Revision, Revision, Revision];
  expect(otherOf(first, all, 'r3')).toBe('r3');
  expect(otherOf(latest, all, 'r3')).toBe('r2');
  expect(otherOf(first, [first], 'r1')).toBe('r1');
});
