import { describe, expect, test } from 'vitest';
import { bodyField, type Field, memberOf } from '../../../src/console/form/schema.ts';

function at(field: Field, ...names: string[]): Field {
  const member = names.reduce<Field | null>((each, name) => each && memberOf(each, name), field);
  if (member === null) throw new Error(`failed to find ${names.join('.')}`);
  return member;
}

describe('fields of the form', () => {
  const body = bodyField('UpdateDeploymentInput');

  test('have the kind, the limits and the description of the schema', () => {
    expect(at(body, 'source_config', 'resource_spec', 'min_scale')).toEqual({
      name: 'min_scale',
      description: 'Minimum number of api pods. If the maximum is positive, at least one pod runs.',
      kind: { kind: 'number', isInteger: true, minimum: 0, maximum: 1000 },
      isNullable: true,
      isRequired: false,
    });
    expect(at(body, 'source_config', 'resource_spec', 'cpu').kind).toMatchObject({ isInteger: false });
    expect(at(body, 'source_config', 'deployment_type').kind).toEqual({
      kind: 'choice',
      choices: ['dev_free', 'dev', 'prod'],
    });
    expect(at(body, 'source_config', 'build_on_push').kind.kind).toBe('boolean');
    expect(at(body, 'source_config', 'domains').kind.kind).toBe('texts');
    expect(at(body, 'source_config', 'install_command').kind).toEqual({ kind: 'text', isLong: true });
    expect(at(body, 'source_config', 'resource_spec', 'labels').kind.kind).toBe('map');
    expect(at(body, 'source_config', 'resource_spec', 'sidecars').kind.kind).toBe('items');
    expect(at(body, 'source_config', 'health_checks', 'api', 'type').isRequired).toBe(true);
  });

  test('describe the use of a shared schema, not the schema', () => {
    expect(at(body, 'source_config', 'health_checks', 'queue').description).toBe(
      'Value for the component queue.',
    );
  });

  test('every field has a description, which is the help text', () => {
    const without = (field: Field, path: string): string[] => [
      ...(field.description === null ? [path] : []),
      ...(field.kind.kind === 'struct' ? field.kind.fields : []).flatMap((each) =>
        without(each, `${path}.${each.name}`),
      ),
    ];
    expect(without(at(body, 'source_config'), 'source_config')).toEqual([]);
    expect(without(at(body, 'source_revision_config'), 'source_revision_config')).toEqual([]);
  });
});
