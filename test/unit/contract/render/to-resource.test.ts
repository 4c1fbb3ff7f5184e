import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuQuantity, toManagedDeployment } from '../../../../src/contract/render/to-resource.ts';
import { managedDeploymentSpecSchema } from '../../../../src/contract/resource/managed-deployment.ts';
import { domainsOf } from '../../../../src/domain/app-hosts/domains.ts';
import { secretsBodySchema } from '../../../../src/domain/deployment/deployment-bodies.ts';
import { isReservedEnvName, TRACING_ENV_NAMES } from '../../../../src/domain/deployment/reserved.ts';
import { DEPLOYMENT_TYPES } from '../../../../src/domain/deployment/source.ts';
import { parseQuantity } from '../../../../src/domain/kubernetes/quantity.ts';
import {
  EXPORTER_VARIABLE,
  exposesHeaders,
  hasOwnEndpoint,
} from '../../../../src/domain/resource-spec/exporter-variables.ts';
import { milliCpu } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { schedulesOf } from '../../../../src/domain/schedules/schedules.ts';
import { domains } from '../../../arbitraries/domains.ts';
import { inPlaceSettings } from '../../../arbitraries/pod-settings.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import { validRunSettings } from '../../../arbitraries/run-settings.ts';
import { schedules } from '../../../arbitraries/schedules.ts';
import { minimalRequest, recordOf, resourceOf, SELF_HOSTED } from '../../workloads/render-request.ts';

const specOf = (spec: object) => resourceOf(minimalRequest(spec), SELF_HOSTED).spec;

test('converts every valid record to a valid custom resource that relies on no default', () => {
  const type = fc.option(fc.constantFrom(...DEPLOYMENT_TYPES));
  fc.assert(
    fc.property(
      validResourceSpec(),
      type,
      inPlaceSettings(),
      validRunSettings,
      domains(),
      schedules(),
      (spec, deployment_type, settings, runSettings, hosts, runs) => {
        const minimal = minimalRequest();
        const request = {
          ...minimal,
          source_config: {
            deployment_type,
            resource_spec: spec,
            ...domainsOf({ domains: hosts }),
            ...schedulesOf({ schedules: runs }),
            ...settings,
          },
          source_revision_config: { ...minimal.source_revision_config, ...runSettings },
        };
        const resource = toManagedDeployment(recordOf(request, SELF_HOSTED));
        const json = JSON.parse(JSON.stringify(resource.spec));
        expect(managedDeploymentSpecSchema.parse(json)).toEqual(json);
      },
    ),
    { numRuns: 60 },
  );
});

test('puts every run setting into the pod template', () => {
  const secret_references = [{ name: 'KEY', secret_name: 'payments', secret_key: 'api-key' }];
  const minimal = minimalRequest();
  const run = { port: 80, commands: { api: { args: ['serve'] } }, env: [{ name: 'A', value: 'b' }] };
  const release = { release_command: ['migrate', '$(PORT)'], release_timeout_seconds: 60 };
  const revision = { ...minimal.source_revision_config, ...run, ...release };
  const request = { ...minimal, source_revision_config: revision, secret_references };
  expect(resourceOf(request, SELF_HOSTED).spec.podTemplate).toEqual({
    ...run,
    releaseCommand: ['migrate', '$(PORT)'],
    releaseTimeoutSeconds: 60,
    secretReferences: [{ name: 'KEY', secretName: 'payments', secretKey: 'api-key' }],
  });
});

test('converts cores to exact millicores', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256_000 }), (milli) => {
      const quantity = cpuQuantity(milli / 1000);
      expect(parseQuantity(quantity)).toBe(BigInt(milliCpu(milli / 1000)) * 10n ** 6n);
    }),
  );
  expect(['250m', '1', '1500m']).toEqual([0.25, 1, 1.5].map(cpuQuantity));
});

describe('toManagedDeployment', () => {
  test('suspends the deployment when max_scale is 0', () => {
    expect(specOf({ min_scale: 3, max_scale: 0 })).toMatchObject({ suspend: true });
  });

  test('scales only the queue to 0 when queue_max_scale is 0', () => {
    const { suspend, components } = specOf({ queue_min_scale: 3, queue_max_scale: 0 });
    expect(suspend).toBe(false);
    expect(components.queue?.scale).toEqual({ min: 0, max: 0 });
  });

  test('suspends a deployment without a revision, with no image and no env Secret', () => {
    const { spec } = toManagedDeployment({ ...recordOf(minimalRequest(), SELF_HOSTED), revision: null });
    expect(spec).toMatchObject({ suspend: true, revision: { number: 1 } });
    expect(spec.revision).not.toHaveProperty('image');
    expect(spec.revision).not.toHaveProperty('envSecretName');
  });

  test('suspends a deployment and releases its host when its deletion is requested, and changes nothing else', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    const sourceConfig = { ...record.deployment.sourceConfig, custom_url: 'https://shop.example.com' };
    const deployment = { ...record.deployment, sourceConfig };
    const { spec } = toManagedDeployment({ ...record, deployment });
    const [requestTime, restorableUntilTime] = ['2026-11-21T10:00:00.000Z', '2026-11-22T10:00:00.000Z'];
    const times = { deleteRequestedAt: new Date(requestTime), purgeAfter: new Date(restorableUntilTime) };
    const deleting = { ...deployment, ...times };
    expect(toManagedDeployment({ ...record, deployment: deleting }).spec).toEqual({
      ...spec,
      suspend: true,
      deletion: { requestTime, restorableUntilTime },
      routing: {},
    });
  });

  test('runs the data services without an image when the revision is not built yet', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    if (record.revision === null) throw new Error('the request names an image');
    const sourceRevisionConfig = { ...record.revision.sourceRevisionConfig, image_uri: null };
    const { spec } = toManagedDeployment({
      ...record,
      revision: { ...record.revision, sourceRevisionConfig },
    });
    expect(spec.suspend).toBe(false);
    expect(spec.revision).not.toHaveProperty('image');
  });
});

describe('the revision', () => {
  test('uses the digest when the image was resolved', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    if (record.revision === null) throw new Error('the request names an image');
    const resolvedImage = `registry.example.com/demo@sha256:${'0'.repeat(64)}`;
    const { spec } = toManagedDeployment({ ...record, revision: { ...record.revision, resolvedImage } });
    expect(spec.revision.image).toBe(resolvedImage);
  });

  test('states its failure and the active revision only when it has failed', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    if (record.revision === null) throw new Error('the request names an image');
    const active = { id: 'r0', number: 1 };
    const told = { reason: 'CrashLoop', message: 'api: it crashes' };
    const specWith = (status: 'DEPLOY_FAILED' | 'DEPLOYING', revision: object = told) =>
      toManagedDeployment({
        ...record,
        active,
        revision: { ...record.revision, ...revision, status } as typeof record.revision,
      }).spec;
    expect(specWith('DEPLOY_FAILED').failed).toEqual({
      ...told,
      activeRevision: active,
      observedRecordGeneration: 0,
    });
    const wordy = specWith('DEPLOY_FAILED', { reason: 'x'.repeat(99), message: 'x'.repeat(9999) });
    expect(managedDeploymentSpecSchema.safeParse(wordy).success).toBe(true);
    expect(specWith('DEPLOYING')).not.toHaveProperty('failed');
  });

  test('names its env Secret only when it has secrets, and never contains their values', () => {
    expect(specOf({}).revision).not.toHaveProperty('envSecretName');
    const request = { ...minimalRequest(), secrets: [{ name: 'KEY', value: 'hidden value' }] };
    const resource = resourceOf(request, SELF_HOSTED);
    expect(resource.spec.revision.envSecretName).toBe('demo-000000d1-env-1');
    expect(JSON.stringify(resource)).not.toContain('hidden value');
  });

  describe('with any secrets that the API accepts', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    /** `spec.tracing` of a resource whose secrets have these names. */
    const tracingOf = (secretNames: string[]) => {
      expect(
        secretsBodySchema.safeParse(secretNames.map((name) => ({ name, value: 'x' }))).error,
      ).toBeUndefined();
      const json = JSON.parse(JSON.stringify(toManagedDeployment({ ...record, secretNames }).spec));
      expect(managedDeploymentSpecSchema.parse(json)).toEqual(json);
      return json.tracing as { ownVariables?: string[]; exporterVariables?: string[] };
    };
    const signal = (index: number) =>
      `Z${index}`.replace(/\d/g, (digit) => 'ABCDEFGHIJ'[Number(digit)] ?? '');
    const many = (kind: string) =>
      Array.from({ length: 990 }, (_, at) => `OTEL_EXPORTER_OTLP_${signal(at)}_${kind}`);
    const long = (kind: string) => `OTEL_EXPORTER_OTLP_${'A'.repeat(253 - 20 - kind.length)}_${kind}`;

    test('names variables of any length', () => {
      const names = ['CERTIFICATE', 'ENDPOINT', 'INSECURE'].map(long);
      expect(names.map(({ length }) => length)).toEqual([253, 253, 253]);
      expect(tracingOf(names).exporterVariables).toEqual(names.toSorted());
    });

    test.each(['ENDPOINT', 'INSECURE', 'CERTIFICATE', 'CLIENT_KEY'])(
      'keeps the variables that decide about headers among a thousand names of %s',
      (kind) => {
        const telling = ['HTTPS_PROXY', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'SSL_CERT_FILE', 'https_proxy'];
        const names = [...many(kind), ...telling, long('INSECURE'), 'OTEL_EXPORTER_OTLP_HEADERS'];
        const { exporterVariables = [], ownVariables } = tracingOf(names);
        expect(exporterVariables).toEqual(
          expect.arrayContaining([...telling, ...(kind === 'INSECURE' ? [] : [long('INSECURE')])]),
        );
        expect(exporterVariables.some((name) => name.endsWith(kind))).toBe(true);
        expect(ownVariables).toEqual(['OTEL_EXPORTER_OTLP_HEADERS']);
      },
    );

    test('leads to the same decisions as the whole list, for any names', () => {
      const name = fc.oneof(
        fc.stringMatching(EXPORTER_VARIABLE).filter(({ length }) => length <= 253),
        fc.stringMatching(/^[A-Z_]{1,253}$/),
        fc.constantFrom(...TRACING_ENV_NAMES),
      );
      const unreserved = name.filter((one) => !isReservedEnvName(one));
      fc.assert(
        fc.property(fc.uniqueArray(unreserved, { maxLength: 200 }), (names) => {
          const { exporterVariables = [] } = tracingOf(names);
          // Decisions about the platform's endpoint and headers are the same as of the whole list.
          expect(hasOwnEndpoint(exporterVariables)).toBe(
            hasOwnEndpoint(names.filter((one) => one !== 'OTEL_EXPORTER_OTLP_ENDPOINT')),
          );
          for (const endpoint of ['http://collector', 'https://collector'])
            expect(exposesHeaders(exporterVariables, endpoint)).toBe(exposesHeaders(names, endpoint));
        }),
        { numRuns: 60 },
      );
    });
  });

  test('marks a data service as external when a secret contains its URI', () => {
    const record = recordOf(minimalRequest(), SELF_HOSTED);
    const external = (secretNames: string[]) => {
      const { database, cache } = toManagedDeployment({ ...record, secretNames }).spec;
      return [database.external, cache.external];
    };
    expect(external([])).toEqual([false, false]);
    expect(external(['DATABASE_URI_CUSTOM'])).toEqual([true, false]);
    expect(external(['CACHE_URI_CUSTOM'])).toEqual([false, true]);
  });
});

describe('data services that are switched off', () => {
  const of = (settings: object) => {
    const request = minimalRequest();
    const source_config = { ...request.source_config, ...settings };
    const { database, cache } = resourceOf({ ...request, source_config }, SELF_HOSTED).spec;
    return { database, cache };
  };

  test('are marked only if they are off, so that other custom resources stay as they are', () => {
    expect(of({ database: { enabled: true }, cache: { enabled: true } })).toEqual(of({}));
    const { database, cache } = of({ database: { enabled: false }, cache: { enabled: false } });
    expect(database).toMatchObject({ external: false, enabled: false });
    expect(database).not.toHaveProperty('removeVolume');
    expect(cache).toMatchObject({ external: false, enabled: false });
  });

  test('have the confirmation to remove the volume', () => {
    const database = { enabled: false, remove_volume: true };
    expect(of({ database }).database).toMatchObject({ enabled: false, removeVolume: true });
    expect(of({ database: { enabled: false, remove_volume: false } }).database).not.toHaveProperty(
      'removeVolume',
    );
  });
});

describe('the pull Secret for the registry of the platform', () => {
  const repository = 'registry.example.com/t1/demo-12345678';
  const pullSecretsOf = (image_uri: string, spec: object = {}, more: object = { repository }) => {
    const record = recordOf({ ...minimalRequest(spec), source_revision_config: { image_uri } }, SELF_HOSTED);
    return toManagedDeployment({ ...record, ...more }).spec.podTemplate.imagePullSecrets;
  };
  const own = { name: `${resourceOf(minimalRequest(), SELF_HOSTED).metadata.name}-pull` };

  test('is listed once, after the requested pull Secrets', () => {
    expect(pullSecretsOf(`${repository}:1`)).toEqual([own]);
    expect(pullSecretsOf(`${repository}:1`, { image_pull_secrets: [{ name: 'mine' }] })).toEqual([
      { name: 'mine' },
      own,
    ]);
    expect(pullSecretsOf(`${repository}:1`, { image_pull_secrets: [own] })).toEqual([own]);
  });

  test('is not listed for an image of another repository, or without a repository or a revision', () => {
    for (const image of [
      'registry.example.com/demo:1',
      `${repository}/deeper:1`,
      'docker.io/library/nginx:1',
    ])
      expect(pullSecretsOf(image)).toBeUndefined();
    expect(pullSecretsOf(`${repository}:1`, {}, {})).toBeUndefined();
    expect(pullSecretsOf(`${repository}:1`, {}, { repository, revision: null })).toBeUndefined();
  });

  test('is listed in addition to the maximum number of requested pull Secrets', () => {
    const asked = Array.from({ length: 20 }, (_, n) => ({ name: `s${n}` }));
    const record = recordOf(
      {
        ...minimalRequest({ image_pull_secrets: asked }),
        source_revision_config: { image_uri: `${repository}:1` },
      },
      SELF_HOSTED,
    );
    const { spec } = toManagedDeployment({ ...record, repository });
    expect(managedDeploymentSpecSchema.parse(spec).podTemplate.imagePullSecrets).toEqual([...asked, own]);
  });
});
