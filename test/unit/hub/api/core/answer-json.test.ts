import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../../src/domain/deployment/deployment.ts';
import { serializerFor } from '../../../../../src/hub/api/core/answer-json.ts';
import { presentDeployment } from '../../../../../src/hub/api/deployments/deployment-present.ts';
import {
  deploymentListSchema,
  deploymentSchema,
  dryRunSchema,
} from '../../../../../src/hub/api/deployments/deployment-schema.ts';
import { PolledJson } from '../../../../../src/hub/store/core/polled-json.ts';
import type { DeploymentRecord } from '../../../../../src/hub/store/core/records.ts';
import { createSecretBox } from '../../../../../src/hub/store/secrets/secret-box.ts';

const ID = '018f0000-0000-7000-8000-000000000002';
const AT = new Date(Date.UTC(2026, 0, 1));

const sourceConfig: SourceConfig = {
  integration_id: null,
  repo_url: null,
  deployment_type: 'prod',
  build_on_push: null,
  custom_url: null,
  resource_spec: { max_scale: 3, annotations: { 'example.com/quote': '"}\\ \u2028,"id":1' } },
  listener_id: ID,
  listener_config: { cluster_namespace: 'shop' },
  install_command: null,
  build_command: null,
};

const polled = new PolledJson(['source_config'], 10_000);
/** As the store has it, once it was asked for again. */
function again(config: SourceConfig): SourceConfig {
  const text = JSON.stringify(config);
  const read = () => polled.parse({ id: text, source_config: text }).source_config as SourceConfig;
  read();
  return read();
}
const polledConfig = () => again(sourceConfig);

function record(more: Partial<DeploymentRecord> = {}): DeploymentRecord {
  return {
    id: ID,
    tenantId: ID,
    name: 'shop',
    source: 'external_image',
    sourceConfig: polledConfig(),
    sourceRevisionConfig: {
      repo_ref: null,
      workflow_config_path: null,
      image_uri: 'a/b:1',
      repo_commit_sha: null,
    },
    secrets: null,
    imageVersion: '1',
    createdAt: AT,
    updatedAt: AT,
    status: 'READY',
    latestRevisionId: ID,
    activeRevisionId: null,
    generation: 1,
    observation: null,
    conditions: [],
    listener: { everSeen: false, alive: false, lastSeenAt: null, leased: false, lostAt: null },
    tracingProjectId: ID,
    deleteRequestedAt: null,
    purgeAfter: null,
    ...more,
  } as DeploymentRecord;
}

const box = createSecretBox({ keys: [{ id: 'one', key: randomBytes(32) }], primary: 'one' });
const present = (more?: Partial<DeploymentRecord>) =>
  presentDeployment(record(more), { box, showSecrets: true });

describe('the JSON of a deployment', () => {
  test.each([
    ['that was polled', polledConfig()],
    ['that was not polled', sourceConfig],
    ['without sizes', again({ ...sourceConfig, resource_spec: null })],
  ])('equals the output of JSON.stringify for a configuration %s', (_, config) => {
    const shown = present({ sourceConfig: config });
    expect(serializerFor({ schema: deploymentSchema })(shown)).toBe(JSON.stringify(shown));
    const page = { resources: [shown, present({ name: 'other' })], offset: 2 };
    expect(String(serializerFor({ schema: deploymentListSchema })(page))).toBe(JSON.stringify(page));
  });

  test('equals the output of JSON.stringify for an empty page and for another schema', () => {
    const page = { resources: [], offset: 7 };
    expect(String(serializerFor({ schema: deploymentListSchema })(page))).toBe(JSON.stringify(page));
    const dry = { ...present(), manifests: null, new_revision: true, builds: false, pods_roll: false };
    expect(serializerFor({ schema: dryRunSchema })(dry)).toBe(JSON.stringify(dry));
  });

  test('equals the output of JSON.stringify for a page of long texts with multibyte characters', () => {
    const name = 'ü€😀'.repeat(3000);
    const long = again({ ...sourceConfig, install_command: name });
    const more = { name, sourceConfig: long };
    const page = { resources: Array.from({ length: 20 }, () => present(more)), offset: 20 };
    expect(String(serializerFor({ schema: deploymentListSchema })(page))).toBe(JSON.stringify(page));
  });

  test('reuses derived values for a polled configuration, and derives them again for one that may change', () => {
    expect(present().effective_resource_spec).toBe(present().effective_resource_spec);
    const own = structuredClone(sourceConfig);
    const before = present({ sourceConfig: own });
    own.deployment_type = 'dev';
    const after = present({ sourceConfig: own });
    expect([before.source_config.deployment_type, after.source_config.deployment_type]).toEqual([
      'prod',
      'dev',
    ]);
    expect(after.effective_resource_spec).not.toEqual(before.effective_resource_spec);
  });
});
