import { describe, expect, test } from 'vitest';
import type { FieldRow, FieldTarget } from '../../../scripts/resource-spec/field-row.ts';
import { FIELD_ROWS } from '../../../scripts/resource-spec/field-rows.ts';
import { RUN_SETTINGS_ROWS } from '../../../scripts/resource-spec/run-settings-rows.ts';
import { resourceSpecDoc, storedResourceSpecDoc } from '../../../scripts/resource-spec-doc.ts';
import { COMPONENTS } from '../../../src/domain/resource-spec/components.ts';
import { type ResourceSpec, resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import type { DesiredObject } from '../../../src/workloads/desired-object.ts';
import { fullResourceSpec } from '../../arbitraries/full-resource-spec.ts';
import { minimalRequest, render, SELF_HOSTED } from './render-request.ts';
import { keyOf, type Occurrence, occurrences, schemaFields } from './schema-fields.ts';

const [shipper] = fullResourceSpec.sidecars satisfies ResourceSpec['sidecars'];
if (shipper === undefined) throw new Error('failed to find a sidecar in the full spec');

/** Every field, with a maximum above each minimum, and an ordinary and a native sidecar with all members. */
const SPEC: ResourceSpec = {
  ...fullResourceSpec,
  orchestrator_max_scale: 4,
  sidecars: [
    { ...shipper, restartPolicy: 'OnFailure' },
    { ...shipper, name: 'native-shipper', restartPolicy: 'Always' },
    ...fullResourceSpec.sidecars.slice(1),
  ],
};

type Value = unknown;

function valueAt(root: Value, path: string): Value {
  const steps = path.match(/\[[^\]]*\]|[^.[\]]+/g) ?? [];
  return steps.reduce<Value>((value, step) => {
    if (value === undefined || value === null) return undefined;
    if (!step.startsWith('[')) return (value as Record<string, Value>)[step];
    return (value as object[]).find((entry) => keyOf(entry) === step.slice(1, -1));
  }, root);
}

/** Resolves `[<name>]` separately from the path, because mount paths can contain dots and brackets. */
function fill(path: string, keys: readonly string[], root: Value): Value {
  const parts = path.split('[<name>]');
  return parts.slice(1).reduce<Value>(
    (value, part, index) => {
      const entry = (value as object[] | undefined)?.find((item) => keyOf(item) === keys[index]);
      return part === '' ? entry : valueAt(entry, part.replace(/^\./, ''));
    },
    valueAt(root, parts[0] ?? ''),
  );
}

function withReplicas({ object, replicas }: DesiredObject): Value {
  if (replicas?.kind !== 'fixed') return object;
  return { ...object, spec: { ...(object.spec as object), replicas: replicas.count } };
}

/** The objects of a target: one, or one for each component. */
function objectsOf(target: FieldTarget, spec: ResourceSpec): { name: string; object: Value }[] {
  const { resource, objects } = render(minimalRequest(spec), SELF_HOSTED);
  const components = target.object.includes('<component>') ? COMPONENTS : [''];
  return components.map((component) => {
    const named = target.object.replace('<app>', resource.metadata.name).replace('<component>', component);
    const found = objects.find(({ object }) => `${object.kind} ${object.metadata.name}` === named);
    return { name: named, object: found === undefined ? undefined : withReplicas(found) };
  });
}

function checkTarget(target: FieldTarget, spec: ResourceSpec, { value: sent, keys }: Occurrence): void {
  const expected = target.value === undefined ? sent : target.value(sent as number);
  for (const { name, object } of objectsOf(target, spec)) {
    expect(object, `${name} exists`).toBeDefined();
    const actual = fill(target.path, keys, object);
    const where = `${name}: ${target.path}`;
    if (Array.isArray(actual) && !Array.isArray(expected)) expect(actual, where).toContain(expected);
    else if (typeof expected === 'object') expect({ is: actual }, where).toMatchObject({ is: expected });
    else expect(actual, where).toEqual(expected);
  }
}

/** Another valid value of a field. With two values, a match is not a coincidence. */
function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value + 1 : value + 0.05;
  if (typeof value === 'string') return `${value}-b`;
  return undefined;
}

/** Whole lists. The rendered lists also contain Berth's own containers, and defaults. */
const LISTS = ['volumes', 'init_containers', 'sidecars'];

function checkRow(row: FieldRow, spec: ResourceSpec): void {
  for (const target of row.targets) {
    const found = occurrences(spec, row.field).filter(({ entry }) => target.holds?.(entry) ?? true);
    expect(found, `${row.field} for ${target.path} in the spec of this test`).not.toEqual([]);
    for (const occurrence of found) {
      checkTarget(target, { ...spec, ...target.given?.(occurrence.value as number) }, occurrence);
    }
  }
}

describe('a row of the table', () => {
  const rows = FIELD_ROWS.filter(({ field }) => !LISTS.includes(field));
  test.each(rows.map((row) => [row.field, row] as const))('names the fields that %s sets', (field, row) => {
    checkRow(row, SPEC);
    const other = otherThan((SPEC as Record<string, unknown>)[field]);
    if (other !== undefined) checkRow(row, { ...SPEC, [field]: other });
  });

  test('keeps the order of the entries of a list', () => {
    const { templates } = render(minimalRequest(SPEC), SELF_HOSTED);
    for (const component of COMPONENTS) {
      const pod = templates[component]?.spec;
      expect(pod?.volumes?.map(keyOf)).toEqual(SPEC.volumes?.map(keyOf));
      expect(pod?.initContainers?.map(keyOf)).toEqual(['native-shipper', 'metrics', 'migrate', 'proxy']);
      expect(pod?.containers.map(keyOf)).toEqual(['app', 'log-shipper']);
    }
  });
});

describe('a row of the table of run settings', () => {
  const command = (component: string) => ({ command: [`run-${component}`], args: ['a', component] });
  const settings = {
    port: 80,
    commands: Object.fromEntries(COMPONENTS.map((component) => [component, command(component)])),
    env: [
      { name: 'A', value: '$(PORT)' },
      { name: 'B.c', value: '' },
    ],
  };
  const secret_references = [
    { name: 'C', secret_name: 'payments', secret_key: 'api-key' },
    { name: 'D.e', secret_name: 'mail', secret_key: 'password' },
  ];
  const minimal = minimalRequest();
  const request = {
    ...minimal,
    source_revision_config: { ...minimal.source_revision_config, ...settings },
    secret_references,
  };
  const { resource, objects } = render(request, SELF_HOSTED);

  test.each(
    RUN_SETTINGS_ROWS.flatMap(({ field, targets }) => targets.map((target) => [field, target] as const)),
  )('names the field that %s sets', (field, target) => {
    const components = target.object.includes('<component>') ? COMPONENTS : ['api'];
    for (const component of components) {
      const named = target.object.replace('<app>', resource.metadata.name).replace('<component>', component);
      const found = objects.find(({ object }) => `${object.kind} ${object.metadata.name}` === named)?.object;
      expect(found, named).toBeDefined();
      const sent = occurrences({ ...settings, secret_references }, field.replace('<component>', component));
      expect(sent).not.toEqual([]);
      for (const { value, keys } of sent)
        expect(fill(target.path, keys, found), named).toEqual(target.value?.(value as number) ?? value);
    }
  });
});

test('there is one row for each field of the schema', () => {
  expect(FIELD_ROWS.map(({ field }) => field).toSorted()).toEqual(
    schemaFields(resourceSpecSchema).toSorted(),
  );
});

test('docs/resource-spec.md is up to date', () => {
  expect(storedResourceSpecDoc()).toBe(resourceSpecDoc());
});
