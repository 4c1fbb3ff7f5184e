import { describe, expect, test } from 'vitest';
import type { Deployment } from '../../../src/console/api/types.ts';
import { MASK, withoutValues } from '../../../src/console/change/masked.ts';
import { changeField, documentOf, patchOf } from '../../../src/console/edit/document.ts';
import { changesBetween, merged, othersChanges } from '../../../src/console/edit/merge.ts';
import type { JsonObject } from '../../../src/console/form/json.ts';
import { fromYaml, toYaml, valueOfYaml } from '../../../src/console/form/yaml.ts';

const field = changeField();

const deployment = {
  source_config: {
    deployment_type: 'dev',
    repo_url: null,
    resource_spec: { min_scale: 1, cpu: null, labels: { team: 'web' }, sidecars: null },
    health_checks: { api: { type: 'http', path: '/healthz' } },
    default_ceilings: { cpu: 4 },
  },
  source_revision_config: {
    image_uri: 'shop:1',
    repo_commit_sha: 'abc',
    env: [{ name: 'A', value: '1' }],
    commands: { api: { command: ['web'], args: ['--fast'] } },
  },
  secrets: [{ name: 'TOKEN', value: 'very secret' }],
} as unknown as Deployment;

const base = documentOf(deployment);

describe('documentOf', () => {
  test('contains what a request can contain, without null and without values of secrets', () => {
    expect(base).toEqual({
      source_config: {
        deployment_type: 'dev',
        resource_spec: { min_scale: 1, labels: { team: 'web' } },
        health_checks: { api: { type: 'http', path: '/healthz' } },
      },
      source_revision_config: {
        image_uri: 'shop:1',
        env: [{ name: 'A', value: '1' }],
        commands: { api: { command: ['web'], args: ['--fast'] } },
      },
      secrets: [{ name: 'TOKEN', value: MASK }],
      secret_references: [],
    });
  });
});

/** The base with changed members of `source_config`. */
const withConfig = (config: JsonObject): JsonObject => ({
  ...base,
  source_config: { ...(base['source_config'] as JsonObject), ...config },
});

describe('patchOf', () => {
  test('is empty when nothing differs', () => {
    expect(patchOf(base, structuredClone(base) as JsonObject)).toEqual({});
  });

  test('contains the changed fields only, and null for those that are gone', () => {
    const after = withConfig({ resource_spec: { min_scale: 2 } });
    expect(patchOf(base, after)).toEqual({
      source_config: { resource_spec: { min_scale: 2, labels: null } },
    });
  });

  test('replaces maps, lists and health checks as a whole', () => {
    const after = withConfig({
      resource_spec: { min_scale: 1, labels: { tier: 'front' } },
      health_checks: { api: { type: 'tcp' } },
    });
    expect(patchOf(base, after)).toEqual({
      source_config: {
        resource_spec: { labels: { tier: 'front' } },
        health_checks: { api: { type: 'tcp' } },
      },
    });
  });

  test('sends a whole command, with null for a member that is gone', () => {
    const config = base['source_revision_config'] as JsonObject;
    const after = {
      ...base,
      source_revision_config: { ...config, commands: { api: { command: ['web', 'serve'] } } },
    };
    expect(patchOf(base, after)).toEqual({
      source_revision_config: { commands: { api: { command: ['web', 'serve'], args: null } } },
    });
  });

  test('sends all secrets with the mask for values that stay', () => {
    const after = {
      ...base,
      secrets: [
        { name: 'TOKEN', value: MASK },
        { name: 'KEY', value: 'new' },
      ],
    };
    const patch = patchOf(base, after);
    expect(patch).toEqual({
      secrets: [
        { name: 'TOKEN', value: MASK },
        { name: 'KEY', value: 'new' },
      ],
    });
    expect(JSON.stringify(withoutValues(patch))).not.toContain('new');
  });
});

describe('merged', () => {
  test('keeps the changes of both', () => {
    const mine = withConfig({ resource_spec: { min_scale: 3, labels: { team: 'web' } } });
    const theirs = {
      ...withConfig({ deployment_type: 'prod' }),
      secrets: [
        { name: 'TOKEN', value: MASK },
        { name: 'OTHER', value: MASK },
      ],
    };
    const result = merged({ base, mine, theirs }, field) as JsonObject;
    expect(result).toEqual({
      ...base,
      source_config: {
        ...(base['source_config'] as JsonObject),
        deployment_type: 'prod',
        resource_spec: { min_scale: 3, labels: { team: 'web' } },
      },
      secrets: theirs.secrets,
    });
    expect(patchOf(theirs, result)).toEqual({ source_config: { resource_spec: { min_scale: 3 } } });
  });

  test('prefers the own value of a field that both changed, and reports the field', () => {
    const mine = withConfig({ resource_spec: { min_scale: 3, labels: { team: 'web' } } });
    const theirs = withConfig({ resource_spec: { min_scale: 9, cpu: 1, labels: { team: 'web' } } });
    const result = merged({ base, mine, theirs }, field) as JsonObject;
    expect(result).toEqual(withConfig({ resource_spec: { min_scale: 3, cpu: 1, labels: { team: 'web' } } }));
    expect(othersChanges({ base, mine, theirs }, field)).toEqual([
      { path: ['source_config', 'resource_spec', 'min_scale'], before: 1, after: 9, isOwn: true },
      { path: ['source_config', 'resource_spec', 'cpu'], before: undefined, after: 1, isOwn: false },
    ]);
  });

  test('merges lists by name: additions of both stay, and what either removed stays away', () => {
    const list = (...names: string[]) => ({ ...base, secrets: names.map((name) => ({ name, value: MASK })) });
    const start = list('A', 'B', 'C');
    const result = merged(
      { base: start, mine: list('A', 'C', 'MINE'), theirs: list('A', 'B', 'THEIRS') },
      field,
    );
    expect(result).toEqual(list('A', 'MINE', 'THEIRS'));
  });
});

test('changesBetween names entries of lists by their names', () => {
  const config = base['source_revision_config'] as JsonObject;
  const after = { ...base, source_revision_config: { ...config, env: [{ name: 'A', value: '2' }] } };
  expect(changesBetween(base, after, field).map(({ path }) => path)).toEqual([
    ['source_revision_config', 'env', 'A'],
  ]);
});

describe('YAML', () => {
  test('a document is the same after it was written and read', () => {
    const parsed = fromYaml(toYaml(base));
    expect('document' in parsed && parsed.document).toEqual(base);
  });

  test('names the line of an error, and of a field', () => {
    const wrong = fromYaml('source_config:\n  cpu: [1\n');
    expect('errors' in wrong && wrong.errors[0]?.line).toBeGreaterThanOrEqual(2);
    const parsed = fromYaml('source_config:\n  resource_spec:\n    cpu: 1\n');
    if ('errors' in parsed) throw new Error('failed to read a correct document');
    expect(parsed.lineOf(['source_config', 'resource_spec', 'cpu'])).toBe(3);
    expect(parsed.lineOf(['source_config', 'resource_spec', 'memory_mb'])).toBe(3);
    expect(parsed.lineOf(['secrets'])).toBe(null);
  });

  test('rejects repeated fields, texts without fields, and aliases that grow', () => {
    expect(fromYaml('a: 1\na: 2\n')).toHaveProperty('errors');
    expect(fromYaml('just a text')).toHaveProperty('errors');
    const grows = [
      'a: &a [1,1,1,1,1,1,1,1,1,1]',
      ...'bcdefg'.split('').map((name, index) => {
        const from = 'abcdef'[index];
        return `${name}: &${name} [${Array(10).fill(`*${from}`).join(',')}]`;
      }),
    ].join('\n');
    expect(fromYaml(grows)).toHaveProperty('errors');
  });

  test('an empty text is an absent value', () => {
    expect(valueOfYaml(' ')).toEqual({ value: undefined });
    expect(valueOfYaml('- name: a')).toEqual({ value: [{ name: 'a' }] });
    expect(valueOfYaml('[')).toHaveProperty('error');
    expect(valueOfYaml('*name')).toHaveProperty('error');
  });
});
