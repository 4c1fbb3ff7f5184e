import { describe, expect, test } from 'vitest';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import { toSourceConfig } from '../../../../src/domain/deployment/deployment-bodies.ts';
import {
  configChanges,
  creationChanges,
  secretChanges,
} from '../../../../src/domain/deployment/field-changes.ts';
import { SECRET_MASK } from '../../../../src/domain/redaction/secret-list.ts';

const REVISION = {
  repo_ref: null,
  workflow_config_path: null,
  image_uri: 'shop/web:1',
  repo_commit_sha: null,
};
const configs = (sourceConfig: Partial<SourceConfig>, image_uri = 'shop/web:1') => ({
  sourceConfig: { ...toSourceConfig({}), ...sourceConfig },
  sourceRevisionConfig: { ...REVISION, image_uri },
});

describe('configChanges', () => {
  test('lists each changed field with both values when fields of all parts change', () => {
    const before = configs({ resource_spec: { cpu: 1, labels: { a: '1' } }, install_command: 'make' });
    const after = configs({ resource_spec: { memory_mb: 5, labels: { a: '2' } } }, 'shop/web:2');
    expect(configChanges(before, after)).toEqual([
      { field: 'source_config.install_command', before: 'make', after: null },
      { field: 'source_config.resource_spec.cpu', before: 1, after: null },
      { field: 'source_config.resource_spec.labels', before: { a: '1' }, after: { a: '2' } },
      { field: 'source_config.resource_spec.memory_mb', before: null, after: 5 },
      { field: 'source_revision_config.image_uri', before: 'shop/web:1', after: 'shop/web:2' },
    ]);
  });

  test('lists nothing when only the order of keys differs', () => {
    const before = configs({ resource_spec: { labels: { a: '1', b: '2' } } });
    const after = configs({ resource_spec: { labels: { b: '2', a: '1' } } });
    expect(configChanges(before, after)).toEqual([]);
  });

  test('lists resource_spec when an empty one replaces none', () => {
    const changes = configChanges(configs({}), configs({ resource_spec: {} }));
    expect(changes).toEqual([{ field: 'source_config.resource_spec', before: null, after: {} }]);
  });

  test('omits the limits of defaults when the policy changed', () => {
    const ceilings = { cpu: 1, memory_mb: 2, db_connections: 3 };
    expect(configChanges(configs({}), configs({ default_ceilings: ceilings }))).toEqual([]);
  });
});

test('secretChanges names added, removed and changed secrets without values when the order differs as well', () => {
  const before = [
    { name: 'KEPT', value: 'k' },
    { name: 'CHANGED', value: 'old' },
    { name: 'REMOVED', value: 'r' },
  ];
  const after = [
    { name: 'ADDED', value: '' },
    { name: 'CHANGED', value: 'new' },
    { name: 'KEPT', value: 'k' },
  ];
  expect(secretChanges(before, after)).toEqual([
    { field: 'secrets.CHANGED', before: SECRET_MASK, after: SECRET_MASK },
    { field: 'secrets.REMOVED', before: SECRET_MASK, after: null },
    { field: 'secrets.ADDED', before: null, after: SECRET_MASK },
  ]);
});

test('creationChanges lists every set field of a new deployment', () => {
  const created = {
    ...configs({ resource_spec: { cpu: 1 }, listener_config: { cluster_namespace: 'apps' } }),
    name: 'shop',
    source: 'external_image' as const,
    secrets: [{ name: 'A', value: 'x' }],
  };
  expect(creationChanges(created)).toEqual([
    { field: 'name', before: null, after: 'shop' },
    { field: 'source', before: null, after: 'external_image' },
    { field: 'source_config.listener_config.cluster_namespace', before: null, after: 'apps' },
    { field: 'source_config.resource_spec.cpu', before: null, after: 1 },
    { field: 'source_revision_config.image_uri', before: null, after: 'shop/web:1' },
    { field: 'secrets.A', before: null, after: SECRET_MASK },
  ]);
});
