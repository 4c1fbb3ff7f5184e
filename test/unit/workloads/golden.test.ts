import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { managedDeploymentSpecSchema } from '../../../src/contract/resource/managed-deployment.ts';
import { resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { FIELD_CASES, GOLDEN_CASES } from './golden-cases.ts';
import { changesText, objectsText, yaml } from './golden-text.ts';
import { minimalRequest, render, SELF_HOSTED } from './render-request.ts';
import { occurrences, schemaFields } from './schema-fields.ts';

/** Rewrite with `npm run golden`, then read the difference. */

const folder = fileURLToPath(new URL('../../golden/', import.meta.url));

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

describe('the rendering of a whole application', () => {
  test.each(GOLDEN_CASES.map((golden) => [golden.name, golden] as const))(
    'matches the golden files of %s',
    async (name, golden) => {
      const { resource, objects } = render(golden.request, golden.config);
      await expect(json(golden.request)).toMatchFileSnapshot(`${folder}${name}/request.json`);
      await expect(`# ${golden.about}\n${yaml(golden.config)}`).toMatchFileSnapshot(
        `${folder}${name}/config.yaml`,
      );
      await expect(yaml(resource)).toMatchFileSnapshot(`${folder}${name}/resource.yaml`);
      await expect(objectsText(objects)).toMatchFileSnapshot(`${folder}${name}/objects.yaml`);
      // As the API server fills in defaults: none may be left to it, or the operator would see a difference.
      expect(managedDeploymentSpecSchema.parse(resource.spec)).toEqual(resource.spec);
    },
  );
});

describe('the rendering of one field compared with `minimal`', () => {
  const minimal = render(minimalRequest(), SELF_HOSTED).objects;
  test.each(FIELD_CASES.map((golden) => [golden.field, golden] as const))(
    'matches the golden changes of %s',
    async (field, { request }) => {
      const { objects } = render(request, SELF_HOSTED);
      const changes = changesText(minimal, objects);
      await expect(json(request)).toMatchFileSnapshot(`${folder}fields/${field}/request.json`);
      await expect(changes).toMatchFileSnapshot(`${folder}fields/${field}/changes.yaml`);
      expect(changes, `${field} changes something`).not.toBe('{}\n');
    },
  );
});

test('every field of the schema is in some golden request', () => {
  const specs = [...GOLDEN_CASES, ...FIELD_CASES].map(
    ({ request }) => request.source_config.resource_spec ?? {},
  );
  const missing = schemaFields(resourceSpecSchema).filter((field) =>
    specs.every((spec) => occurrences(spec, field).length === 0),
  );
  expect(missing).toEqual([]);
});

test('every golden folder belongs to a case', () => {
  const names = (path: string) => readdirSync(path).filter((name) => !name.endsWith('.md'));
  expect(names(folder).toSorted()).toEqual(
    ['fields', 'schedules', 'tasks', ...GOLDEN_CASES.map(({ name }) => name)].toSorted(),
  );
  expect(names(`${folder}fields`).toSorted()).toEqual(FIELD_CASES.map(({ field }) => field).toSorted());
});
