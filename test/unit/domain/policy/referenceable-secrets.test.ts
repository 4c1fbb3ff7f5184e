import { describe, expect, test } from 'vitest';
import { resolvePolicy } from '../../../../src/domain/policy/policy.ts';
import {
  generatedObjectIssues,
  secretReferenceIssues,
} from '../../../../src/domain/policy/policy-references.ts';
import {
  MARKER_KEY_SECRET,
  type SecretRules,
  type SecretUse,
  secretRefusal,
} from '../../../../src/domain/policy/referenceable-secrets.ts';

const RULES: SecretRules = { appName: 'shop-0a1b2c3d', labelledOnly: false };
const why = (
  name: string,
  more: { labels?: Record<string, string>; type?: string } = {},
  rules: Partial<SecretRules> = {},
  use: SecretUse = 'content',
) => secretRefusal({ name, ...more }, use, { ...RULES, ...rules });

const MANAGED = { 'app.kubernetes.io/managed-by': 'berth' };

describe('by its name alone, a Secret', () => {
  test.each([
    ['payments', null],
    ['web-env-1', null],
    ['orders-db', null],
    ['shop-0a1b2c3d-db', /was created by Berth/],
    ['shop-0a1b2c3d-db-copy', /was created by Berth/],
    ['shop-0a1b2c3d-env-12', /was created by Berth/],
    ['shop-0a1b2c3d-tls', /was created by Berth/],
    ['shop-0a1b2c3d-identity', /was created by Berth/],
    ['other-0a1b2c3d-db', /another deployment/],
    ['bootstrap-token-abcdef', /bootstrap token/],
    ['sh.helm.release.v1.berth.v3', /release of Helm/],
    [MARKER_KEY_SECRET, /platform/],
  ])('%s is refused or not', (name, expected) => {
    if (expected === null) expect(why(name)).toBeNull();
    else expect(why(name)).toMatch(expected);
  });

  test('is refused when the platform has it beside deployments', () => {
    expect(why('otlp', {}, { platformSecrets: ['otlp'] })).toMatch(/platform/);
  });

  test('with the name of an own Secret is allowed where Berth itself uses it', () => {
    expect(why('shop-0a1b2c3d-env-1', {}, {}, 'environment')).toBeNull();
    expect(why('shop-0a1b2c3d-pull', {}, {}, 'pull')).toBeNull();
    expect(why('shop-0a1b2c3d-env-1', {}, { appName: 'evil' }, 'environment')).toMatch(/another deployment/);
  });
});

describe('with labels and type, a Secret', () => {
  test.each([
    ['kubernetes.io/service-account-token', /token of a ServiceAccount/],
    ['bootstrap.kubernetes.io/token', /bootstrap token/],
    ['helm.sh/release.v1', /release of Helm/],
  ])('of the type %s is refused for every use', (type, expected) => {
    for (const use of ['content', 'environment', 'pull'] as const)
      expect(why('payments', { labels: {}, type }, {}, use)).toMatch(expected);
  });

  test.each(['Opaque', 'kubernetes.io/tls', 'kubernetes.io/basic-auth', 'example.com/mine'])(
    'of the type %s is allowed',
    (type) => expect(why('payments', { labels: {}, type })).toBeNull(),
  );

  test('of Berth is refused as content, and allowed as the environment of its own deployment', () => {
    const more = { labels: MANAGED, type: 'Opaque' };
    expect(why('x', more)).toMatch(/another deployment/);
    expect(why('x', more, { isOwn: true })).toMatch(/was created by Berth/);
    expect(why('x', more, { isOwn: true }, 'environment')).toBeNull();
    expect(why('x', more, {}, 'environment')).toMatch(/another deployment/);
  });

  test('of the platform is refused', () => {
    expect(why('x', { labels: { 'app.kubernetes.io/part-of': 'berth' } })).toMatch(/platform/);
  });

  test('needs the label when the policy requires it, except to pull images and as the own environment', () => {
    const rules = { labelledOnly: true };
    expect(why('payments', { labels: {} }, rules)).toMatch(/berth\.dev\/referenceable=true/);
    expect(why('payments', { labels: { 'berth.dev/referenceable': 'false' } }, rules)).not.toBeNull();
    expect(why('payments', { labels: { 'berth.dev/referenceable': 'true' } }, rules)).toBeNull();
    expect(why('payments', { labels: {} }, rules, 'pull')).toBeNull();
    expect(why('payments', { labels: {} }, rules, 'environment')).not.toBeNull();
    expect(why('x', { labels: MANAGED }, { ...rules, isOwn: true }, 'environment')).toBeNull();
  });

  test('is not made referenceable by the label if it is refused for another reason', () => {
    const labels = { 'berth.dev/referenceable': 'true' };
    expect(why('payments', { labels, type: 'helm.sh/release.v1' }, { labelledOnly: true })).not.toBeNull();
    expect(why('x', { labels: { ...labels, ...MANAGED } }, { labelledOnly: true })).not.toBeNull();
  });
});

test('the API rejects the key of markers in every field, although it knows only the name', () => {
  const appName = 'shop-0a1b2c3d';
  const references = [{ name: 'A', secretName: MARKER_KEY_SECRET, secretKey: 'key' }];
  expect(secretReferenceIssues({ references, appName }, resolvePolicy('self_hosted'))).toMatchObject([
    { loc: ['secret_references', 0, 'secret_name'] },
  ]);
  const spec = { volumes: [{ name: 'v', secret: { secretName: MARKER_KEY_SECRET } }] };
  expect(generatedObjectIssues({ spec, appName } as never)).toMatchObject([
    { loc: ['source_config', 'resource_spec', 'volumes', 0, 'secret', 'secretName'] },
  ]);
});
