import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sameJson } from '../../../../src/domain/core/same-json.ts';
import type { SourceConfig } from '../../../../src/domain/deployment/deployment.ts';
import {
  compactSpec,
  type PatchBody,
  patchBodySchema,
} from '../../../../src/domain/deployment/deployment-bodies.ts';
import { applyPatch, type Patched, type PatchTarget } from '../../../../src/domain/deployment/patch.ts';
import { SOURCES } from '../../../../src/domain/deployment/source.ts';
import { maskSecrets } from '../../../../src/domain/redaction/secret-list.ts';
import {
  RESOURCE_SPEC_FIELDS,
  type ResourceSpec,
} from '../../../../src/domain/resource-spec/resource-spec.ts';
import { fromSecretReferences } from '../../../../src/domain/run-settings/secret-reference-schema.ts';
import { domains, sentDomains } from '../../../arbitraries/domains.ts';
import { inPlaceSettings, sentPodSettings } from '../../../arbitraries/pod-settings.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import {
  sentRunSettings,
  sentSecretReferences,
  validRunSettings,
} from '../../../arbitraries/run-settings.ts';
import { schedules, sentSchedules } from '../../../arbitraries/schedules.ts';

const LISTENER = '01890000-0000-7000-8000-000000000001';

const NO_CONFIG: SourceConfig = {
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

function target(more: Partial<PatchTarget> = {}): PatchTarget {
  return {
    source: 'external_image',
    sourceConfig: NO_CONFIG,
    sourceRevisionConfig: {
      repo_ref: null,
      workflow_config_path: null,
      image_uri: 'shop/web:1',
      repo_commit_sha: null,
    },
    secrets: [],
    listenerId: LISTENER,
    namespace: 'apps',
    serverUrl: null,
    ...more,
  };
}

const withSpec = (resource_spec: ResourceSpec | null) =>
  target({ sourceConfig: { ...NO_CONFIG, resource_spec } });
const specAfter = (stored: ResourceSpec | null, sent: ResourceSpec | null) =>
  applyPatch(withSpec(stored), { source_config: { resource_spec: sent } }).next.sourceConfig.resource_spec;

/** The target as it is stored after a patch. */
const after = (before: PatchTarget, { next }: Patched): PatchTarget => ({ ...before, ...next });

/** Names that no variable of `validRunSettings` has. */
const names = fc.constantFrom('SECRET_NAME_A', 'SECRET_NAME_B', 'SECRET_NAME_C');
const secretLists = fc.uniqueArray(fc.record({ name: names, value: fc.constantFrom('', '1', '2') }), {
  selector: ({ name }) => name,
});
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const urls = fc.constantFrom('https://a.example.com', 'https://b.example.com');
const specs = validResourceSpec();

/** A spec in which some fields are null. */
const sentSpecs = fc
  .tuple(specs, fc.subarray([...RESOURCE_SPEC_FIELDS], { maxLength: 5 }))
  .map(([spec, cleared]) => ({
    ...spec,
    ...Object.fromEntries(cleared.map((field) => [field, null])),
  }));

const targets: fc.Arbitrary<PatchTarget> = fc
  .record({
    source: fc.constantFrom(...SOURCES),
    spec: maybe(specs),
    url: maybe(urls),
    type: maybe(fc.constantFrom('dev', 'prod')),
    command: maybe(fc.constant('make')),
    image: maybe(fc.constantFrom('shop/web:1', 'shop/web:2')),
    ref: maybe(fc.constantFrom('main', 'next')),
    sha: maybe(fc.constant('abc')),
    secrets: secretLists,
    settings: inPlaceSettings(),
    hosts: domains(),
    runs: schedules(),
    runSettings: validRunSettings,
  })
  .map(({ source, spec, url, type, command, image, ref, sha, secrets, settings, hosts, runs, runSettings }) =>
    target({
      source,
      secrets,
      sourceConfig: {
        ...NO_CONFIG,
        resource_spec: spec === null ? null : compactSpec(spec),
        custom_url: url,
        deployment_type: type,
        install_command: command,
        ...(hosts.length === 0 ? {} : { domains: hosts }),
        ...(runs.length === 0 ? {} : { schedules: runs }),
        ...settings,
      } as SourceConfig,
      sourceRevisionConfig: {
        repo_ref: ref,
        workflow_config_path: 'app.yaml',
        image_uri: source === 'external_image' ? (image ?? 'shop/web:0') : image,
        repo_commit_sha: sha,
        ...runSettings,
      },
    }),
  );

const partial = { requiredKeys: [] };
const patches: fc.Arbitrary<PatchBody> = fc.record(
  {
    source_config: maybe(
      fc
        .tuple(
          fc.record(
            {
              resource_spec: maybe(sentSpecs),
              custom_url: maybe(urls),
              build_on_push: maybe(fc.boolean()),
              domains: sentDomains(),
              schedules: sentSchedules(),
              install_command: maybe(fc.constantFrom('make', 'npm ci')),
            },
            partial,
          ),
          sentPodSettings(),
        )
        .map(([config, settings]) => ({ ...config, ...settings })),
    ),
    source_revision_config: maybe(
      fc
        .tuple(
          fc.record(
            {
              image_uri: fc.constantFrom('shop/web:1', 'shop/web:2'),
              repo_ref: maybe(fc.constantFrom('main', 'next')),
            },
            partial,
          ),
          sentRunSettings,
        )
        .map(([config, settings]) => ({ ...config, ...settings })),
    ),
    secrets: maybe(secretLists),
    secret_references: sentSecretReferences,
  },
  partial,
) as fc.Arbitrary<PatchBody>;

describe('applyPatch', () => {
  test('is tested only with patches that the API accepts', () => {
    fc.assert(
      fc.property(patches, (patch) => {
        expect(patchBodySchema.safeParse(patch).error).toBeUndefined();
      }),
    );
  });

  test('changes nothing when the same patch is applied again', () => {
    fc.assert(
      fc.property(targets, patches, (before, patch) => {
        const first = applyPatch(before, patch);
        const second = applyPatch(after(before, first), patch);
        expect(second.changed).toEqual([]);
        expect(second.newRevision).toBe(false);
        expect(second.next).toEqual(first.next);
      }),
    );
  });

  test('changes nothing and breaks no rule when a response is sent back, masked or not', () => {
    fc.assert(
      fc.property(targets, fc.boolean(), (before, masked) => {
        const spec = before.sourceConfig.resource_spec;
        const shownSpec = (stored: ResourceSpec) =>
          Object.fromEntries(RESOURCE_SPEC_FIELDS.map((field) => [field, stored[field] ?? null]));
        const { secretReferences, ...config } = before.sourceRevisionConfig;
        const echo = {
          source_config: { ...before.sourceConfig, resource_spec: spec === null ? null : shownSpec(spec) },
          source_revision_config: config,
          ...(secretReferences === undefined
            ? {}
            : { secret_references: fromSecretReferences(secretReferences) }),
          secrets: masked ? maskSecrets(before.secrets) : [...before.secrets],
        };
        expect(applyPatch(before, echo as PatchBody)).toMatchObject({
          changed: [],
          newRevision: false,
          issues: [],
          shapeIssues: [],
          next: { secrets: before.secrets },
        });
      }),
    );
  });

  test('reports no change exactly when nothing changed', () => {
    fc.assert(
      fc.property(targets, patches, (before, patch) => {
        const { next, changed } = applyPatch(before, patch);
        const bySecret = (list: typeof next.secrets) => new Map(list.map(({ name, value }) => [name, value]));
        const same =
          sameJson(next.sourceConfig, before.sourceConfig) &&
          sameJson(next.sourceRevisionConfig, before.sourceRevisionConfig) &&
          sameJson(Object.fromEntries(bySecret(next.secrets)), Object.fromEntries(bySecret(before.secrets)));
        expect(changed.length === 0).toBe(same);
      }),
    );
  });

  test('creates no revision for source_config alone', () => {
    fc.assert(
      fc.property(targets, patches, (before, { source_config }) => {
        expect(applyPatch(before, { source_config }).newRevision).toBe(false);
      }),
    );
  });

  test('keeps what is absent', () => {
    fc.assert(
      fc.property(targets, (before) => {
        for (const empty of [{}, { source_config: {}, source_revision_config: {} }, { secrets: null }]) {
          expect(applyPatch(before, empty)).toMatchObject({ changed: [], next: { secrets: before.secrets } });
        }
      }),
    );
  });

  test('does not modify its input', () => {
    fc.assert(
      fc.property(targets, patches, (before, patch) => {
        const copy = structuredClone(before);
        applyPatch(before, patch);
        expect(before).toEqual(copy);
      }),
    );
  });
});

describe('a patch of resource_spec', () => {
  test.each<[string, ResourceSpec | null, ResourceSpec | null, ResourceSpec | null]>([
    ['keeps an absent field', { cpu: 1 }, { memory_mb: 5 }, { cpu: 1, memory_mb: 5 }],
    ['clears a field with null', { cpu: 1, memory_mb: 5 }, { cpu: null }, { memory_mb: 5 }],
    ['replaces a map', { labels: { a: '1' } }, { labels: { b: '2' } }, { labels: { b: '2' } }],
    ['replaces a list', { volumes: [{ name: 'a' }] }, { volumes: [] }, { volumes: [] }],
    [
      'keeps the size of the volume for null',
      { db_storage_gi: 9 },
      { db_storage_gi: null },
      { db_storage_gi: 9 },
    ],
    [
      'keeps the size of the volume when the whole is null',
      { cpu: 1, db_storage_gi: 9 },
      null,
      { db_storage_gi: 9 },
    ],
    ['clears the whole with null', { cpu: 1 }, null, null],
    ['stays null without fields', null, {}, null],
    ['stays null with fields of null', null, { cpu: null }, null],
    ['sets the first field', null, { cpu: 1 }, { cpu: 1 }],
    ['removes the last field', { cpu: 1 }, { cpu: null }, {}],
  ])('%s', (_what, stored, sent, expected) => {
    expect(specAfter(stored, sent)).toEqual(expected);
  });
});

test('lists the names of changed fields, and never their values', () => {
  const before = target({ secrets: [{ name: 'A', value: 'old' }] });
  const { changed } = applyPatch(before, {
    source_config: { resource_spec: { cpu: 2, labels: { a: 'b' } }, custom_url: 'https://a.example.com' },
    source_revision_config: { image_uri: 'shop/web:2' },
    secrets: [{ name: 'A', value: 'hunter2' }],
  });
  expect(changed).toEqual([
    'source_config.custom_url',
    'source_config.resource_spec.cpu',
    'source_config.resource_spec.labels',
    'source_revision_config.image_uri',
    'secrets',
  ]);
});

describe('an immutable field', () => {
  test.each([
    ['integration_id', { integration_id: LISTENER }],
    ['repo_url', { repo_url: 'https://git.example.com/a' }],
    ['deployment_type', { deployment_type: 'prod' as const }],
    ['listener_id', { listener_id: '01890000-0000-7000-8000-000000000009' }],
    ['listener_config', { listener_config: { cluster_namespace: 'other' } }],
  ])('cannot be changed: %s', (field, source_config) => {
    const patched = applyPatch(target(), { source_config });
    expect(patched.issues).toMatchObject([{ type: 'immutable' }]);
    expect(patched.issues[0]?.loc.slice(0, 2)).toEqual(['source_config', field]);
    expect(patched.next.sourceConfig).toEqual(NO_CONFIG);
  });

  test('may be sent back with the value that the server chose', () => {
    const source_config = { listener_id: LISTENER, listener_config: { cluster_namespace: 'apps' } };
    const patched = applyPatch(target(), { source_config });
    expect(patched).toMatchObject({
      issues: [],
      changed: [],
      asked: { sourceConfig: { listener_id: null } },
    });
  });
});

describe('a patch of a git_host deployment', () => {
  const built = target({
    source: 'git_host',
    sourceConfig: { ...NO_CONFIG, custom_url: 'https://app.example.com' },
    sourceRevisionConfig: {
      repo_ref: 'main',
      workflow_config_path: 'app.yaml',
      image_uri: 'registry/app@sha256:1',
      repo_commit_sha: 'abc',
    },
  });

  test('keeps what the server set when null or the same value is sent', () => {
    for (const [custom_url, image_uri, repo_commit_sha] of [
      [null, null, null],
      ['https://app.example.com', 'registry/app@sha256:1', 'abc'],
    ]) {
      const patch = { source_config: { custom_url }, source_revision_config: { image_uri, repo_commit_sha } };
      const patched = applyPatch(built, patch);
      expect(patched).toMatchObject({ changed: [], issues: [], shapeIssues: [] });
      expect(patched.asked.sourceRevisionConfig.image_uri).toBeNull();
    }
  });

  test('reports another commit as an issue of shape', () => {
    const patched = applyPatch(built, { source_revision_config: { repo_commit_sha: 'def' } });
    expect(patched.shapeIssues).toMatchObject([{ loc: ['source_revision_config', 'repo_commit_sha'] }]);
  });

  test('builds again for another ref, but not for other secrets', () => {
    const ref = applyPatch(built, { source_revision_config: { repo_ref: null } });
    expect(ref).toMatchObject({
      newRevision: true,
      next: { sourceRevisionConfig: { repo_ref: null, image_uri: null, repo_commit_sha: null } },
    });
    const secrets = applyPatch(built, { secrets: [{ name: 'A', value: '1' }] });
    expect(secrets).toMatchObject({
      newRevision: true,
      next: { sourceRevisionConfig: { image_uri: 'registry/app@sha256:1' } },
    });
  });
});

test('a patch of commands is rejected when the merged commands are too large', () => {
  const large = { args: ['x'.repeat(32_000), 'x'.repeat(8000)] };
  const before = target();
  const first = applyPatch(before, { source_revision_config: { commands: { api: large } } });
  expect(first.issues).toEqual([]);
  const stored = after(before, first);
  const second = applyPatch(stored, { source_revision_config: { commands: { queue: large } } });
  expect(second.issues).toMatchObject([{ loc: ['source_revision_config', 'commands'], type: 'too_big' }]);
  expect(applyPatch(stored, { source_revision_config: { port: 80 } }).issues).toEqual([]);
});

describe('a patch of an internal_image deployment', () => {
  const waiting = target({
    source: 'internal_image',
    sourceRevisionConfig: { ...target().sourceRevisionConfig, image_uri: null },
  });

  test('creates no revision for secrets before there is an image', () => {
    expect(applyPatch(waiting, { secrets: [{ name: 'A', value: '1' }] })).toMatchObject({
      changed: ['secrets'],
      newRevision: false,
    });
  });

  test('creates a revision for the image, and rejects its removal', () => {
    const image = { source_revision_config: { image_uri: 'shop/web:1' } };
    const first = applyPatch(waiting, image);
    expect(first.newRevision).toBe(true);
    const cleared = applyPatch(after(waiting, first), { source_revision_config: { image_uri: null } });
    expect(cleared.issues).toMatchObject([{ loc: ['source_revision_config', 'image_uri'] }]);
  });
});

describe('a mask', () => {
  const stored = target({ secrets: [{ name: 'A', value: 'x' }] });
  test('keeps the stored value, and is rejected for another name', () => {
    const kept = applyPatch(stored, { secrets: [{ name: 'A', value: '**********' }] });
    expect(kept).toMatchObject({ changed: [], issues: [], next: { secrets: [{ name: 'A', value: 'x' }] } });
    const unknown = applyPatch(stored, { secrets: [{ name: 'B', value: '**********' }] });
    expect(unknown.issues).toMatchObject([{ loc: ['secrets', 0, 'value'], type: 'masked_secret_unknown' }]);
  });
});
