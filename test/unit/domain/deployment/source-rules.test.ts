import { describe, expect, test } from 'vitest';
import type { SourceConfig, SourceRevisionConfig } from '../../../../src/domain/deployment/deployment.ts';
import { createBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { HOSTING_MODES, SOURCES, type Source } from '../../../../src/domain/deployment/source.ts';
import {
  SOURCE_TRAITS,
  type SourceRuleInput,
  sourceIssues,
} from '../../../../src/domain/deployment/source-rules.ts';

const UUID = '01890000-0000-7000-8000-000000000001';

const CONFIG: SourceConfig = {
  integration_id: null,
  repo_url: null,
  deployment_type: null,
  build_on_push: null,
  custom_url: null,
  resource_spec: null,
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
};
const REVISION: SourceRevisionConfig = {
  repo_ref: null,
  workflow_config_path: null,
  image_uri: null,
  repo_commit_sha: null,
};

/** A value for each field that a source may refuse. */
const VALUES = {
  source_config: {
    integration_id: UUID,
    repo_url: 'https://git.example.com/a',
    build_on_push: true,
    custom_url: 'https://a.example.com',
    listener_id: UUID,
    install_command: 'npm ci',
    build_command: 'make',
  },
  source_revision_config: { repo_ref: 'main', workflow_config_path: 'app.yaml', image_uri: 'shop/web:1' },
} as const;

/** What each source needs. */
const NEEDED: Readonly<Record<Source, [Partial<SourceConfig>, Partial<SourceRevisionConfig>]>> = {
  git_host: [{ repo_url: 'https://git.example.com/a' }, { workflow_config_path: 'app.yaml' }],
  external_image: [{}, { image_uri: 'shop/web:1' }],
  internal_image: [{}, {}],
};

function input(
  source: Source,
  config: Partial<SourceConfig> = {},
  revision: Partial<SourceRevisionConfig> = {},
  more: Partial<SourceRuleInput> = {},
): SourceRuleInput {
  const [neededConfig, neededRevision] = NEEDED[source];
  const configs = {
    sourceConfig: { ...CONFIG, ...neededConfig, ...config },
    sourceRevisionConfig: { ...REVISION, ...neededRevision, ...revision },
  };
  const hosting = SOURCE_TRAITS[source].hosting[0] ?? 'cloud';
  return { source, asked: configs, next: configs, creating: true, hosting, registry: null, ...more };
}

const codesOf = (found: ReturnType<typeof sourceIssues>) =>
  found.map(({ loc, type }) => `${type} ${loc.join('.')}`);

describe.each(SOURCES)('%s', (source) => {
  test('accepts its required fields alone', () => {
    expect(sourceIssues(input(source))).toEqual([]);
  });

  test.each(HOSTING_MODES)('is accepted for new deployments only in its own hosting modes: %s', (hosting) => {
    const allowed = SOURCE_TRAITS[source].hosting.includes(hosting);
    expect(codesOf(sourceIssues(input(source, {}, {}, { hosting })))).toEqual(
      allowed ? [] : ['source_unavailable source'],
    );
    // The mode may have changed since: what exists can still be changed.
    expect(sourceIssues(input(source, {}, {}, { hosting, creating: false }))).toEqual([]);
  });

  test('reports each required field that is missing', () => {
    for (const [part, field] of SOURCE_TRAITS[source].required) {
      const cleared = { [field]: null };
      const found = sourceIssues(
        part === 'source_config' ? input(source, cleared) : input(source, {}, cleared),
      );
      expect(codesOf(found)).toEqual([`missing_for_source ${part}.${field}`]);
    }
  });

  test('rejects each field that it does not support, by name', () => {
    for (const [part, field] of SOURCE_TRAITS[source].refused) {
      const value = VALUES[part][field as never];
      expect(value, field).toBeDefined();
      const sent = { [field]: value };
      const found = sourceIssues(part === 'source_config' ? input(source, sent) : input(source, {}, sent));
      expect(codesOf(found)).toEqual([`refused_for_source ${part}.${field}`]);
    }
  });

  test('accepts build_on_push: false', () => {
    expect(sourceIssues(input(source, { build_on_push: false }))).toEqual([]);
  });

  test('accepts a field that is already stored', () => {
    const { asked } = input('internal_image');
    const stored = input(source, { custom_url: 'https://a.example.com' });
    expect(sourceIssues({ ...stored, asked, creating: false })).toEqual([]);
  });
});

test('rejects a new repository when nothing can be built, and accepts changes of existing deployments', () => {
  const without = (more: object) =>
    codesOf(sourceIssues(input('git_host', {}, {}, { builds: false, ...more })));
  expect(without({})).toEqual(['builds_unavailable source']);
  expect(without({ creating: false })).toEqual([]);
  expect(without({ hosting: 'self_hosted' })).toEqual(['source_unavailable source']);
  expect(codesOf(sourceIssues(input('internal_image', {}, {}, { builds: false })))).toEqual([]);
});

test('rejects build_on_push for a tag', () => {
  const found = sourceIssues(input('git_host', { build_on_push: true }, { repo_ref: 'refs/tags/v1' }));
  expect(codesOf(found)).toEqual(['tag_built_on_push source_config.build_on_push']);
  expect(sourceIssues(input('git_host', { build_on_push: true }, { repo_ref: 'main' }))).toEqual([]);
  expect(sourceIssues(input('git_host', { build_on_push: false }, { repo_ref: 'refs/tags/v1' }))).toEqual([]);
});

test.each(['refs/pull/1/head', 'heads/main', 'tags/v1', 'remotes/origin/main', 'a'.repeat(40)])(
  'rejects build_on_push for a ref that is not a branch: %s',
  (repo_ref) => {
    const [found] = sourceIssues(input('git_host', { build_on_push: true }, { repo_ref }));
    expect(found).toMatchObject({ loc: ['source_config', 'build_on_push'] });
    expect(found?.msg).toContain('source_revision_config.repo_ref');
    expect(sourceIssues(input('git_host', { build_on_push: false }, { repo_ref }))).toEqual([]);
  },
);

test.each(['refs/heads/main', 'refs/heads/heads/main', 'feature/tags/x', 'v1'])(
  'accepts build_on_push for the branch %s',
  (repo_ref) => {
    expect(sourceIssues(input('git_host', { build_on_push: true }, { repo_ref }))).toEqual([]);
  },
);

test('requires internal images to be in the registry of the platform when there is one', () => {
  const at = (image_uri: string, source: Source = 'internal_image') =>
    codesOf(sourceIssues(input(source, {}, { image_uri }, { registry: 'registry.example.com' })));
  expect(at('registry.example.com/web:1')).toEqual([]);
  expect(at('docker.io/web:1')).toEqual(['foreign_registry source_revision_config.image_uri']);
  expect(at('docker.io/web:1', 'external_image')).toEqual([]);
});

describe('the check of images in a registry that asks the hub for access', () => {
  const registry = 'registry.example.com';
  const owner = { tenantId: 't1', appName: 'shop-12345678' };
  const own = `${registry}/t1/shop-12345678`;
  const at = (source: Source, image_uri: string, more: Partial<SourceRuleInput> = {}) =>
    codesOf(sourceIssues(input(source, {}, { image_uri }, { registry, owner, creating: false, ...more })));
  const refusal = ['foreign_repository source_revision_config.image_uri'];

  test.each([
    [`${own}:1`, []],
    [`${own}@sha256:${'0'.repeat(64)}`, []],
    [own, []],
    [`${own}/deeper:1`, refusal],
    [`${own}-x:1`, refusal],
    [`${registry}/t2/shop-12345678:1`, refusal],
    [`${registry}/t1/other-12345678:1`, refusal],
    [`${registry}/shop:1`, refusal],
  ])('reports for the internal image %s: %j', (image, issues) => {
    expect(at('internal_image', image)).toEqual(issues);
    expect(at('internal_image', image, { owner: null })).toEqual([]);
  });

  test('rejects any image of the registry before the repository exists, and for external_image', () => {
    expect(at('internal_image', `${own}:1`, { creating: true })).toEqual(refusal);
    expect(at('external_image', `${own}:1`)).toEqual(refusal);
    expect(at('external_image', 'docker.io/web:1')).toEqual([]);
    expect(at('external_image', `${own}:1`, { registry: null })).toEqual([]);
  });

  test('rejects images of other deployments in init containers and sidecars', () => {
    const containers = (image: string) => ({
      resource_spec: { init_containers: [{ name: 'a', image }], sidecars: [{ name: 'b', image }] },
    });
    const found = (image: string) =>
      codesOf(sourceIssues(input('git_host', containers(image), {}, { registry, owner, creating: false })));
    expect(found(`${registry}/t2/x:1`)).toEqual([
      'foreign_repository source_config.resource_spec.init_containers.0.image',
      'foreign_repository source_config.resource_spec.sidecars.0.image',
    ]);
    expect(found(`${own}:1`)).toEqual([]);
    expect(found('docker.io/x:1')).toEqual([]);
  });
});

describe('the schema of a body', () => {
  const body = {
    name: 'a',
    source: 'external_image',
    source_config: {},
    source_revision_config: {},
    secrets: [],
  };
  const parse = (more: object) => createBodySchema.safeParse({ ...body, ...more });

  test('converts ids to lower case', () => {
    const { data } = parse({ source_config: { listener_id: UUID.toUpperCase() } });
    expect(data?.source_config.listener_id).toBe(UUID);
  });

  test.each(['main', 'feature/x-1', 'refs/heads/main', 'refs/tags/v1.0', 'v1', 'a'.repeat(40), 'user@host'])(
    'accepts the ref %s',
    (repo_ref) => {
      expect(parse({ source_revision_config: { repo_ref } }).success).toBe(true);
    },
  );

  test.each([
    '',
    '-x',
    '--upload-pack=x',
    '/a',
    'a/',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\b',
    'a@{1}',
    '@',
    '.a',
    'a/.b',
    'a.lock',
    'a.',
    'a//b',
    'a\nb',
  ])('rejects the ref %j', (repo_ref) => {
    expect(parse({ source_revision_config: { repo_ref } }).success).toBe(false);
  });

  test.each(['A', '_a', 'a.b-c', 'DATABASE_URI_CUSTOM', 'CACHE_URI_CUSTOM', 'constructor'])(
    'accepts the secret name %s',
    (name) => {
      expect(parse({ secrets: [{ name, value: '' }] }).success).toBe(true);
    },
  );

  test.each([
    '',
    '1A',
    'a b',
    'a=b',
    'ä',
    '.',
    '..',
    '..a',
    '__proto__',
    'PORT',
    'DATABASE_URI',
    'a'.repeat(254),
  ])('rejects the secret name %j', (name) => {
    expect(parse({ secrets: [{ name, value: '' }] }).success).toBe(false);
  });
});
