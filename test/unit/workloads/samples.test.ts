import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { podSecurityViolations } from '../../../src/domain/kubernetes/pod-security.ts';
import { resourceSpecSchema } from '../../../src/domain/resource-spec/resource-spec.ts';
import { resourceSpecInputSchema } from '../../../src/domain/resource-spec/resource-spec-input.ts';
import { CLOUD, type RequestBody, render, SELF_HOSTED } from './render-request.ts';
import { occurrences, schemaFields } from './schema-fields.ts';

const folder = fileURLToPath(new URL('../../samples/', import.meta.url));
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));

function sample(file: string): RequestBody {
  return JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as RequestBody;
}

test.each(files)('%s is valid in each hosting mode that its source allows', (file) => {
  const body = sample(file);
  const spec = resourceSpecInputSchema.parse(body.source_config.resource_spec);
  const configs = body.source === 'internal_image' ? [SELF_HOSTED, CLOUD] : [SELF_HOSTED];
  for (const config of configs) {
    expect(podSecurityViolations(config.podSecurity, spec)).toEqual([]);
    expect(render(body, config).templates).toHaveProperty('api');
  }
});

test('everything.json uses every field of resource_spec', () => {
  const spec = sample('everything.json').source_config.resource_spec;
  const missing = schemaFields(resourceSpecSchema).filter((field) => occurrences(spec, field).length === 0);
  expect(missing).toEqual([]);
});

test('prerequisites.yaml names no namespace', () => {
  expect(readFileSync(`${folder}prerequisites.yaml`, 'utf8')).not.toMatch(/^\s+namespace:/m);
});
