import { describe, expect, test } from 'vitest';
import { kindOf } from '../../../src/console/create/kind-of.ts';
import { createField, neededObjects, SAMPLES, startOf } from '../../../src/console/create/kinds.ts';
import { placed } from '../../../src/console/edit/draft.ts';
import { fieldsFor, groupsOf } from '../../../src/console/edit/groups.ts';
import { hintsOf } from '../../../src/console/edit/hints.ts';
import { helpText } from '../../../src/console/form/help.ts';
import { mapOf, repeatedNames, rowsOf } from '../../../src/console/form/rows.ts';
import { fieldAt, withoutFields } from '../../../src/console/form/schema.ts';

describe('the form of a new deployment', () => {
  test('begins with the source of its kind', () => {
    expect(startOf('image')).toMatchObject({ source: 'external_image', name: '' });
    expect(startOf('repository')).toMatchObject({ source: 'git_host' });
    expect(startOf('sample')).toBe(SAMPLES[0]);
    expect(kindOf({ from: 'repository' })).toEqual({ from: 'repository' });
    expect(kindOf({ from: 'other' })).toEqual({});
  });

  test('has the fields of repositories only for repositories', () => {
    const image = createField('external_image');
    expect(fieldAt(image, ['source_config', 'repo_url'])).toBe(null);
    expect(fieldAt(image, ['source'])?.kind).toEqual({
      kind: 'choice',
      choices: ['external_image', 'internal_image'],
    });
    expect(fieldAt(createField('git_host'), ['source_config', 'repo_url'])?.kind.kind).toBe('text');
  });

  test('shows a field once', () => {
    const rest = withoutFields(createField('external_image'), [
      ['name'],
      ['source_revision_config', 'image_uri'],
    ]);
    expect(fieldAt(rest, ['name'])).toBe(null);
    expect(fieldAt(rest, ['source_revision_config', 'image_uri'])).toBe(null);
    expect(fieldAt(rest, ['source_revision_config', 'port'])).not.toBe(null);
  });

  test('every field of resource_spec is in one group', () => {
    const spec = fieldAt(createField('external_image'), ['source_config', 'resource_spec']);
    const fields = spec?.kind.kind === 'struct' ? spec.kind.fields : [];
    const groups = groupsOf(['source_config', 'resource_spec'], fields) ?? [];
    expect(groups.flatMap((group) => group.fields).toSorted()).toEqual([...fields].toSorted());
    expect(groups.map((group) => group.fields.length)).not.toContain(0);
    expect(fieldsFor('git_host', createField('git_host'))).toEqual(createField('git_host'));
  });
});

test('names the objects that a sample needs', () => {
  const shop = SAMPLES.find(({ name }) => name === 'Flower shop') ?? {};
  expect(neededObjects(shop)).toContain('Secret registry-credentials');
  expect(neededObjects(shop)).toContain('ConfigMap flower-shop-settings');
  expect(neededObjects(startOf('image'))).toEqual([]);
});

describe('hints', () => {
  const field = createField('external_image');
  const help = (name: string, hintOf: ReturnType<typeof hintsOf>) => {
    const path = ['source_config', 'resource_spec', name];
    const found = fieldAt(field, path);
    if (found === null) throw new Error(`failed to find ${name}`);
    return helpText(found, hintOf(path));
  };

  test('contain the default of the type that was chosen', () => {
    const typed = (type: string) => hintsOf(null, { source_config: { deployment_type: type } });
    expect(help('cpu', typed('dev_free'))).toContain('Default: 0.5.');
    expect(help('cpu', typed('prod'))).toContain('Default: 2.');
    expect(help('cpu_limit', typed('prod'))).not.toContain('Default: 4.');
    expect(help('min_scale', hintsOf(null, null))).toContain('0 to 1000.');
  });

  test('contain what an existing deployment uses', () => {
    const deployment = {
      source_config: { resource_spec: { cpu: 3 } },
      effective_resource_spec: { cpu: 3, cpu_limit: 6, memory_mb: 700 },
    } as unknown as Parameters<typeof hintsOf>[0];
    const hintOf = hintsOf(deployment, {});
    expect(help('cpu_limit', hintOf)).toContain('Default: 6.');
    expect(help('memory_mb', hintOf)).toContain('Default: 700.');
  });
});

test('rows of a map may be incomplete while someone types', () => {
  expect(rowsOf({ a: 'x' })).toEqual([['a', 'x']]);
  expect(
    mapOf([
      ['a', 'x'],
      ['', ''],
    ]),
  ).toEqual({ a: 'x' });
  expect(mapOf([['', '']])).toBe(undefined);
  expect(
    repeatedNames([
      ['a', '1'],
      ['b', '2'],
      ['a', '3'],
    ]),
  ).toEqual(['a']);
});

test('errors of a text name their lines, also when the field is absent', () => {
  const draft = { kind: 'yaml', text: 'name: a\nsource_config:\n  domains: []\n' } as const;
  const errors = [
    { path: ['source_config', 'domains', 0], message: 'm' },
    { path: ['secrets'], message: 'm' },
  ];
  expect(placed(draft, errors).map(({ line }) => line)).toEqual([3, null]);
});
