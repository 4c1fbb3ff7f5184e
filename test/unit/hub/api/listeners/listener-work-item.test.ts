import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ApplyWork } from '../../../../../src/contract/protocol/work-protocol.ts';
import type { Revision } from '../../../../../src/domain/deployment/deployment.ts';
import type { TenantQuotas } from '../../../../../src/domain/policy/tenant-quotas.ts';
import {
  type Rendering,
  toWorkItem,
  whyNotRendered,
} from '../../../../../src/hub/api/listeners/listener-work-item.ts';
import { SecretBoxError } from '../../../../../src/hub/store/core/errors.ts';
import type { SealedSecrets } from '../../../../../src/hub/store/core/records.ts';
import type { DueApply } from '../../../../../src/hub/store/listeners/listener-work-rows.ts';
import {
  createSecretBox,
  integrationContext,
  sealSecrets,
} from '../../../../../src/hub/store/secrets/secret-box.ts';
import {
  DEPLOYMENT_ID,
  minimalRequest,
  recordOf,
  SELF_HOSTED,
  TENANT_ID,
} from '../../../workloads/render-request.ts';

const [lost, kept] = [randomBytes(32), randomBytes(32)];
const before = createSecretBox({ keys: [{ id: 'lost', key: lost }], primary: 'lost' });
const box = createSecretBox({ keys: [{ id: 'kept', key: kept }], primary: 'kept' });
const sealed = (by: typeof box, name: string, value: string): SealedSecrets | null =>
  sealSecrets(by, TENANT_ID, DEPLOYMENT_ID, [{ name, value }]);

const rendering: Rendering = {
  box,
  quotas: {} as TenantQuotas,
  authority: null,
  registry: 'registry.example/apps',
  now: new Date(0),
};

const given = recordOf(minimalRequest(), SELF_HOSTED);
const revision = (number: number, more: Partial<Revision> = {}): Revision => ({
  ...(given.revision as Revision),
  id: `0198c0de-0000-7000-8000-0000000000f${number}`,
  number,
  ...more,
});

function due(more: Partial<DueApply>): DueApply {
  return {
    kind: 'apply',
    deployment: given.deployment,
    attempts: 0,
    version: 0,
    revision: revision(1),
    secrets: null,
    build: null,
    active: null,
    tracingProject: 'shop',
    tenantQuotas: {},
    removingClaim: null,
    staleRevisions: [],
    ...more,
  };
}

const item = (more: Partial<DueApply>, how: Partial<Rendering> = {}) =>
  toWorkItem({ ...rendering, ...how }, due(more)) as ApplyWork;

describe('a work item with secrets that cannot be decrypted', () => {
  const old = sealed(before, 'TOKEN', 'lost');
  const renewed = sealed(box, 'TOKEN', 'renewed');

  test('is not created when they belong to the desired revision', () => {
    expect(() => item({ secrets: old })).toThrow(SecretBoxError);
  });

  test('omits the environment of the active revision when they belong to it, and has the same spec', () => {
    const serving = { id: revision(1).id, number: 1 };
    const repaired = { revision: revision(2), secrets: renewed };
    const made = item({ ...repaired, active: { ...serving, secrets: old } });
    expect(made.env_secrets).toMatchObject([{ revision_number: 2, data: { TOKEN: 'renewed' } }]);
    const asEver = item({ ...repaired, active: { ...serving, secrets: renewed } });
    expect(asEver.env_secrets.map(({ revision_number: number }) => number)).toEqual([2, 1]);
    expect([made.spec, made.spec_hash]).toEqual([asEver.spec, asEver.spec_hash]);
  });

  describe('while a replacement of the desired revision is being built', () => {
    const source = {
      ...given.deployment,
      source: 'git_host' as const,
      sourceConfig: { ...given.deployment.sourceConfig, repo_url: 'https://git.example/team/app' },
    };
    const next = revision(2, {
      status: 'AWAITING_BUILD',
      resolvedImage: null,
      sourceRevisionConfig: {
        ...revision(1).sourceRevisionConfig,
        image_uri: null,
        workflow_config_path: 'app.json',
      },
    });
    const building = (secrets: SealedSecrets | null) => ({
      deployment: source,
      secrets: old,
      build: { revision: next, secrets, integration: null },
    });

    test('names the replacement without an image, and builds it', () => {
      const { spec, env_secrets: environments, build_secret: credentials } = item(building(renewed));
      expect(spec.revision).toEqual({
        id: next.id,
        number: 2,
        envSecretName: `${given.deployment.appName}-env-2`,
      });
      expect(spec.build).toMatchObject({ revisionId: next.id, number: 2 });
      expect(credentials?.revision_id).toBe(next.id);
      expect(environments).toMatchObject([{ revision_id: next.id, data: { TOKEN: 'renewed' } }]);
    });

    test('is not created, with a reason of its own, when the token of the integration cannot be decrypted', () => {
      const identity = { id: '0198c0de-0000-7000-8000-0000000000c1', tenantId: TENANT_ID };
      const token = before.seal(Buffer.from('token'), integrationContext(identity));
      const integration = { ...identity, provider: 'git' as const, hostUrl: 'https://git.example', ...token };
      const build = { ...building(renewed).build, integration };
      const made = () => item({ deployment: source, build });
      const why = [
        made,
        () => item({ secrets: old }),
        () => item({ deployment: { ...source, appName: 'Not A Name', generation: 0.5 } }),
      ].map((make) => {
        try {
          return make();
        } catch (error) {
          return whyNotRendered(error);
        }
      });
      expect(why).toMatchObject([
        {
          reason: 'TokenUnreadable',
          message: expect.stringMatching(
            /integration \S+c1 \(https:\/\/git.example\).* PATCH \/v2\/integrations\/\S+c1 /,
          ),
        },
        { reason: 'SecretsUnreadable' },
        { reason: 'RecordInvalid' },
      ]);
    });

    test('is not created when the replacement is unreadable as well or cannot be built', () => {
      expect(() => item(building(old))).toThrow(SecretBoxError);
      expect(() => item(building(renewed), { registry: null })).toThrow(SecretBoxError);
    });
  });
});
