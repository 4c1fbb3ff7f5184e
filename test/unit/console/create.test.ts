import { describe, expect, test } from 'vitest';
import type { Deployment, Policy } from '../../../src/console/api/types.ts';
import { kindOf } from '../../../src/console/create/kind-of.ts';
import {
  buildsRepositories,
  createField,
  neededObjects,
  SAMPLES,
  samplesFor,
  startOf,
  withRepository,
} from '../../../src/console/create/kinds.ts';
import { placed } from '../../../src/console/edit/draft.ts';
import { fieldsFor, groupsOf } from '../../../src/console/edit/groups.ts';
import { hintsOf } from '../../../src/console/edit/hints.ts';
import { helpText } from '../../../src/console/form/help.ts';
import { mapOf, repeatedNames, rowsOf } from '../../../src/console/form/rows.ts';
import { fieldAt, withoutFields } from '../../../src/console/form/schema.ts';

describe('the form of a new deployment', () => {
  test('begins with the source of its kind', () => {
    expect(startOf('image', null)).toMatchObject({ source: 'external_image', name: '' });
    expect(startOf('repository', null)).toMatchObject({ source: 'git_host' });
    expect(startOf('sample', null)).toBe(SAMPLES[0]);
    expect(kindOf({ from: 'repository' })).toEqual({ from: 'repository' });
    expect(kindOf({ from: 'other' })).toEqual({});
  });

  test('offers the sources and samples of the hosting mode', () => {
    expect(startOf('image', 'cloud')).toMatchObject({ source: 'internal_image' });
    expect(fieldAt(createField('internal_image', 'cloud'), ['source'])?.kind).toMatchObject({
      choices: ['internal_image'],
    });
    expect(samplesFor('cloud').map(({ source }) => source)).not.toContain('external_image');
    expect([buildsRepositories('cloud'), buildsRepositories('self_hosted')]).toEqual([true, false]);
  });

  test('has the fields of repositories only for repositories', () => {
    const image = createField('external_image', null);
    expect(fieldAt(image, ['source_config', 'repo_url'])).toBe(null);
    expect(fieldAt(image, ['source'])?.kind).toEqual({
      kind: 'choice',
      choices: ['external_image', 'internal_image'],
    });
    expect(fieldAt(createField('git_host', null), ['source_config', 'repo_url'])?.kind.kind).toBe('text');
  });

  test('gets the fields of a repository from the list, but keeps a name that was typed', () => {
    const repository = {
      full_name: 'shop/web',
      repo_url: 'https://git.example/shop/web.git',
      default_branch: 'main',
      private: true,
    };
    const filled = withRepository(startOf('repository', null), 'i1', repository);
    expect(filled).toMatchObject({
      name: 'web',
      source_config: { integration_id: 'i1', repo_url: repository.repo_url },
      source_revision_config: { repo_ref: 'main' },
    });
    expect(withRepository({ ...filled, name: 'typed' }, 'i1', repository)['name']).toBe('typed');
  });

  test('shows a field once', () => {
    const rest = withoutFields(createField('external_image', null), [
      ['name'],
      ['source_revision_config', 'image_uri'],
    ]);
    expect(fieldAt(rest, ['name'])).toBe(null);
    expect(fieldAt(rest, ['source_revision_config', 'image_uri'])).toBe(null);
    expect(fieldAt(rest, ['source_revision_config', 'port'])).not.toBe(null);
  });

  test('every field of resource_spec is in one group', () => {
    const spec = fieldAt(createField('external_image', null), ['source_config', 'resource_spec']);
    const fields = spec?.kind.kind === 'struct' ? spec.kind.fields : [];
    const groups = groupsOf(['source_config', 'resource_spec'], fields) ?? [];
    expect(groups.flatMap((group) => group.fields).toSorted()).toEqual([...fields].toSorted());
    expect(groups.map((group) => group.fields.length)).not.toContain(0);
    expect(fieldsFor('git_host', createField('git_host', null))).toEqual(createField('git_host', null));
  });
});

test('names the objects that a sample needs', () => {
  const shop = SAMPLES.find(({ name }) => name === 'Flower shop') ?? {};
  expect(neededObjects(shop)).toContain('Secret registry-credentials');
  expect(neededObjects(shop)).toContain('ConfigMap flower-shop-settings');
  expect(neededObjects(startOf('image', null))).toEqual([]);
});

const NOTHING = { deployment: null, document: null, policy: null };

describe('hints', () => {
  const field = createField('external_image', null);
  const help = (name: string, hintOf: ReturnType<typeof hintsOf>) => {
    const path = ['source_config', 'resource_spec', name];
    const found = fieldAt(field, path);
    if (found === null) throw new Error(`failed to find ${name}`);
    return helpText(found, hintOf(path));
  };

  test('contain the default of the type that was chosen', () => {
    const typed = (type: string) =>
      hintsOf({ ...NOTHING, document: { source_config: { deployment_type: type } } });
    expect(help('cpu', typed('dev_free'))).toContain('Default: 0.5.');
    expect(help('cpu', typed('prod'))).toContain('Default: 2.');
    expect(help('cpu_limit', typed('prod'))).not.toContain('Default: 4.');
    expect(help('min_scale', hintsOf(NOTHING))).toContain('0 to 1000.');
  });

  test('contain the cap of the policy, also that of the type', () => {
    const policy = { caps: { scale: 50, memory_mb: 1024 }, caps_by_type: { dev: { scale: 3 } } } as Policy;
    const typed = (type: string) =>
      hintsOf({ ...NOTHING, policy, document: { source_config: { deployment_type: type } } });
    expect(help('max_scale', typed('prod'))).toContain('0 to 50, the maximum of the policy.');
    expect(help('queue_min_scale', typed('dev'))).toContain('0 to 3, the maximum of the policy.');
    expect(help('db_memory_limit_mb', typed('dev'))).toContain('1 to 1024, the maximum of the policy.');
  });

  test('contain what an existing deployment uses', () => {
    const deployment = {
      source_config: { resource_spec: { cpu: 3 } },
      effective_resource_spec: { cpu: 3, cpu_limit: 6, memory_mb: 700 },
    } as unknown as Deployment;
    const hintOf = hintsOf({ ...NOTHING, deployment, document: {} });
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
