import { describe, expect, test } from 'vitest';
import { applyPatch, type PatchTarget } from '../../../../src/domain/deployment/patch.ts';
import { DEFAULT_POLICIES } from '../../../../src/domain/policy/policy.ts';
import { secretReferenceIssues } from '../../../../src/domain/policy/policy-references.ts';
import { externalServices } from '../../../../src/domain/run-settings/external-services.ts';
import {
  MAX_SECRET_REFERENCES,
  secretReferencesBodySchema,
} from '../../../../src/domain/run-settings/secret-reference-schema.ts';
import { sharedNameIssues } from '../../../../src/domain/run-settings/shared-names.ts';

const sent = (name: string, secret_name = 'payments', secret_key = 'api-key') => ({
  name,
  secret_name,
  secret_key,
});
const stored = (name: string, secretName = 'payments', secretKey = 'api-key') => ({
  name,
  secretName,
  secretKey,
});

describe('the body', () => {
  test.each<[what: string, references: unknown, path: (string | number)[]]>([
    ['a reserved name', [sent('PORT')], [0, 'name']],
    ['a name that is no variable', [sent('1A')], [0, 'name']],
    ['the same name twice', [sent('A'), sent('A', 'other')], [1, 'name']],
    ['an invalid name of a Secret', [sent('A', 'Payments')], [0, 'secret_name']],
    ['an empty key', [sent('A', 'payments', '')], [0, 'secret_key']],
    ['a key that no Secret has', [sent('A', 'payments', 'a/b')], [0, 'secret_key']],
    ['the key ..', [sent('A', 'payments', '..')], [0, 'secret_key']],
    ['too many references', Array.from({ length: MAX_SECRET_REFERENCES + 1 }, (_, n) => sent(`A${n}`)), []],
    ['too many bytes', Array.from({ length: 50 }, (_, n) => sent(`A${n}`, 'p'.repeat(200))), []],
  ])('is rejected when it has %s', (_what, references, path) => {
    const issues = secretReferencesBodySchema.safeParse(references).error?.issues ?? [];
    expect(issues.map((issue) => issue.path)).toContainEqual(path);
  });

  test('has several variables of one Secret, and one key twice', () => {
    const references = [sent('A'), sent('B'), sent('C', 'a.b-c', '.tls_key-1')];
    expect(secretReferencesBodySchema.safeParse(references).error).toBeUndefined();
  });
});

describe('the names of secrets, references and env', () => {
  const named = {
    sourceRevisionConfig: { env: [{ name: 'E', value: '' }], secretReferences: [stored('E'), stored('S')] },
    secrets: [{ name: 'S', value: '' }],
  };
  test.each([
    [
      { sentEnv: false, sentReferences: true, sentSecrets: false },
      ['secret_references.0', 'secret_references.1'],
    ],
    [
      { sentEnv: true, sentReferences: true, sentSecrets: true },
      ['source_revision_config.env.0', 'secret_references.1'],
    ],
    [{ sentEnv: false, sentReferences: false, sentSecrets: true }, ['secrets.0']],
    [{ sentEnv: false, sentReferences: false, sentSecrets: false }, []],
  ])('are one set, and an issue is about a list that was sent: %o', (lists, expected) => {
    const found = sharedNameIssues(named, lists).map(({ loc }) => loc.slice(0, -1).join('.'));
    expect(found).toEqual(expected);
  });

  test('provide a database and a cache of the tenant', () => {
    const settings = { secretReferences: [stored('DATABASE_URI_CUSTOM'), stored('CACHE_URI_CUSTOM')] };
    expect(externalServices([], settings)).toEqual({ database: true, cache: true });
  });
});

const TARGET: PatchTarget = {
  source: 'external_image',
  sourceConfig: {
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
  },
  sourceRevisionConfig: {
    repo_ref: null,
    workflow_config_path: null,
    image_uri: 'shop/web:1',
    repo_commit_sha: null,
    secretReferences: [stored('A'), stored('B')],
  },
  secrets: [],
  listenerId: 'l',
  namespace: 'apps',
  serverUrl: null,
};

describe('a PATCH', () => {
  test.each<[what: string, references: ReturnType<typeof sent>[] | null | undefined, changes: object[]]>([
    ['keeps an absent list', undefined, []],
    ['keeps an equal list', [sent('A'), sent('B')], []],
    [
      'replaces the list',
      [sent('A'), sent('C', 'other')],
      [
        { field: 'secret_references.B', after: null },
        {
          field: 'secret_references.C',
          before: null,
          after: { secret_name: 'other', secret_key: 'api-key' },
        },
      ],
    ],
    ['shows another order as one change', [sent('B'), sent('A')], [{ field: 'secret_references' }]],
    ['clears the list with null', null, [{ field: 'secret_references.A' }, { field: 'secret_references.B' }]],
  ])('%s', (_what, secret_references, changes) => {
    const patched = applyPatch(TARGET, { secret_references });
    expect(patched.changes).toMatchObject(changes);
    expect(patched.changes).toHaveLength(changes.length);
    expect(patched.changed).toEqual(changes.length === 0 ? [] : ['secret_references']);
    expect(patched.newRevision).toBe(changes.length > 0);
    expect(patched.issues).toEqual([]);
    if (secret_references === null)
      expect(patched.next.sourceRevisionConfig).not.toHaveProperty('secretReferences');
  });
});

describe('the policy', () => {
  const { cloud } = DEFAULT_POLICIES;
  const issues = (references: object[], storedReferences: object[] = []) =>
    secretReferenceIssues({ references, storedReferences, appName: 'shop-0a1b2c3d' } as never, cloud).map(
      ({ loc }) => loc.join('.'),
    );
  const different = (count: number) => Array.from({ length: count }, (_, n) => stored(`A${n}`, `s${n}`));

  test('limits the number of Secrets, unless the number does not grow', () => {
    const most = cloud.secret_references.max_secrets;
    expect(issues(different(most))).toEqual([]);
    expect(issues(different(most + 1))).toEqual(['secret_references']);
    expect(issues(different(most + 1), different(most + 1))).toEqual([]);
    expect(issues(different(most + 2), different(most + 1))).toEqual(['secret_references']);
  });

  test('rejects Secrets of Berth by name, also its own, unless they are stored', () => {
    const own = stored('A', 'shop-0a1b2c3d-db', 'password');
    expect(issues([stored('B'), own])).toEqual(['secret_references.1.secret_name']);
    expect(issues([stored('A', 'other-0a1b2c3d-env-1')])).toEqual(['secret_references.0.secret_name']);
    expect(issues([own], [own])).toEqual([]);
  });
});
