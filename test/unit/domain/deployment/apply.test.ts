import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ApplyBody,
  applyAsCreation,
  applyAsPatch,
  applyBodySchema,
} from '../../../../src/domain/deployment/apply.ts';
import {
  createBodySchema,
  deploymentNameSchema,
  toSourceConfig,
  toSourceRevisionConfig,
} from '../../../../src/domain/deployment/deployment-bodies.ts';
import { applyPatch, type PatchTarget } from '../../../../src/domain/deployment/patch.ts';
import type { Source } from '../../../../src/domain/deployment/source.ts';
import { RESOURCE_SPEC_FIELDS } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { sentPodSettings } from '../../../arbitraries/pod-settings.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import { sentRunSettings, sentSecretReferences } from '../../../arbitraries/run-settings.ts';

const LISTENER = '01890000-0000-7000-8000-000000000001';

/** The deployment as a creation with this body stores it. */
function stored(body: ApplyBody): PatchTarget {
  const creation = applyAsCreation('shop', body);
  const { source, source_config, source_revision_config, secrets, secret_references } = creation;
  return {
    source,
    sourceConfig: toSourceConfig(source_config),
    sourceRevisionConfig: toSourceRevisionConfig(source_revision_config, secret_references),
    secrets,
    listenerId: LISTENER,
    namespace: 'apps',
    serverUrl: null,
  };
}

const body = (more: Partial<ApplyBody> = {}): ApplyBody => ({
  source: 'external_image',
  source_config: {},
  source_revision_config: { image_uri: 'shop/web:1' },
  ...more,
});

/** The stored deployment after a PUT. */
const applied = (before: PatchTarget, next: ApplyBody) => applyPatch(before, applyAsPatch(next));

const bodies: fc.Arbitrary<ApplyBody> = fc
  .record({
    spec: fc.option(validResourceSpec(), { nil: null }),
    url: fc.constantFrom(undefined, null, 'https://a.example.com'),
    command: fc.constantFrom(undefined, null, 'make'),
    image: fc.constantFrom('shop/web:1', 'shop/web:2'),
    secrets: fc.constantFrom<ApplyBody['secrets']>(
      undefined,
      null,
      [],
      [{ name: 'SECRET_NAME', value: '1' }],
    ),
    settings: sentPodSettings(),
    runSettings: sentRunSettings,
    references: sentSecretReferences,
  })
  .map(({ spec, url, command, image, secrets, settings, runSettings, references }) =>
    body({
      source_config: { resource_spec: spec, custom_url: url, install_command: command, ...settings },
      source_revision_config: { image_uri: image, ...runSettings } as ApplyBody['source_revision_config'],
      secrets,
      secret_references: references as ApplyBody['secret_references'],
    }),
  );

describe('a PUT of a deployment that exists', () => {
  test('changes nothing when the same body created the deployment', () => {
    fc.assert(
      fc.property(bodies, (sent) => {
        expect(applied(stored(sent), sent)).toMatchObject({ changed: [], issues: [], shapeIssues: [] });
      }),
    );
  });

  test('results in the deployment that the body would create when nothing is kept', () => {
    fc.assert(
      fc.property(bodies, bodies, (first, second) => {
        const withSecrets = { ...second, secrets: second.secrets ?? [] };
        const { db_storage_gi: _, ...free } = first.source_config.resource_spec ?? {};
        const before = stored({
          ...first,
          source_config: { ...first.source_config, resource_spec: first.source_config.resource_spec && free },
        });
        const wanted = stored(withSecrets);
        const { next } = applied(before, withSecrets);
        const spec = wanted.sourceConfig.resource_spec;
        expect(next).toEqual({
          sourceConfig: { ...wanted.sourceConfig, resource_spec: spec === null ? null : { ...spec } },
          sourceRevisionConfig: wanted.sourceRevisionConfig,
          secrets: wanted.secrets,
        });
      }),
    );
  });

  test('changes nothing when it is applied again', () => {
    fc.assert(
      fc.property(bodies, bodies, (first, second) => {
        const before = stored(first);
        const once = { ...before, ...applied(before, second).next };
        expect(applied(once, second).changed).toEqual([]);
      }),
    );
  });

  test('keeps secrets, the size of the volume and immutable fields when they are absent', () => {
    const before = stored(
      body({
        source_config: {
          deployment_type: 'prod',
          listener_id: LISTENER,
          listener_config: { cluster_namespace: 'apps' },
          resource_spec: { db_storage_gi: 20, cpu: 2 },
        },
        secrets: [{ name: 'A', value: '1' }],
      }),
    );
    for (const source_config of [{}, { resource_spec: null }, { resource_spec: {} }]) {
      const { next, issues } = applied(before, body({ source_config }));
      expect(issues).toEqual([]);
      expect(next.sourceConfig).toEqual({ ...before.sourceConfig, resource_spec: { db_storage_gi: 20 } });
      expect(next.secrets).toEqual(before.secrets);
    }
  });

  test('clears the ref of a repository, so that it is built again, when the ref is absent', () => {
    const git = body({
      source: 'git_host',
      source_config: { repo_url: 'https://git.example.com/a', build_on_push: true },
      source_revision_config: { workflow_config_path: 'app.json', repo_ref: 'next' },
    });
    const built = { image_uri: 'registry/app@sha256:1', repo_commit_sha: 'abc' };
    const before = stored(git);
    const target = { ...before, sourceRevisionConfig: { ...before.sourceRevisionConfig, ...built } };
    const source_revision_config = { workflow_config_path: 'app.json' };
    const { next, newRevision } = applied(target, {
      ...git,
      source_config: {},
      source_revision_config,
    });
    expect(newRevision).toBe(true);
    expect(next.sourceConfig).toMatchObject({
      repo_url: 'https://git.example.com/a',
      build_on_push: null,
    });
    expect(next.sourceRevisionConfig).toMatchObject({ repo_ref: null, image_uri: null });
  });

  test.each<[Source, string | null]>([
    ['internal_image', 'shop/web:1'],
    ['external_image', null],
  ])('keeps the image only of an internal_image when the image is absent: %s', (source, expected) => {
    const before = stored(body({ source }));
    const { next, issues } = applied(before, body({ source, source_revision_config: {} }));
    expect(next.sourceRevisionConfig.image_uri).toBe(expected);
    expect(issues).toEqual([]);
  });
});

test('the body of a POST is a valid body of a PUT, and null means absent', () => {
  const created = createBodySchema.parse({ name: 'shop', ...body(), secrets: [] });
  expect(applyBodySchema.parse(created)).toEqual(created);
  const spec = Object.fromEntries(RESOURCE_SPEC_FIELDS.map((field) => [field, null]));
  const nulls = applyBodySchema.parse({ ...body(), source_config: { resource_spec: spec }, secrets: null });
  expect(applied(stored(body()), nulls).changed).toEqual([]);
});

test.each(['.', '..', ' .. ', '\u2003.'])(
  'the name %j is refused, because a URL cannot contain it',
  (name) => {
    expect(deploymentNameSchema.safeParse(name).error?.issues[0]?.message).toContain('URL');
  },
);

test.each(['...', '.a', 'a/..', '../a'])('the name %j is accepted', (name) => {
  expect(deploymentNameSchema.safeParse(name).data).toBe(name);
});
