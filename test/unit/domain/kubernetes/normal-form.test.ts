/** Pod templates with the same meaning have the same normal form, which the operator and the dry run compare. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import {
  type ManagedDeployment,
  managedDeploymentSpecSchema,
} from '../../../../src/contract/resource/managed-deployment.ts';
import { canonicalJson } from '../../../../src/domain/core/hash.ts';
import { normalPodTemplate } from '../../../../src/domain/kubernetes/normal-form.ts';
import { normalCores, normalQuantity, parseQuantity } from '../../../../src/domain/kubernetes/quantity.ts';
import { EXPORTER_VARIABLE } from '../../../../src/domain/resource-spec/exporter-variables.ts';
import type { ResourceSpec } from '../../../../src/domain/resource-spec/resource-spec.ts';
import { rolledParts } from '../../../../src/hub/api/deployments/deployment-manifests.ts';
import { renderTemplates } from '../../../../src/workloads/objects/pod-template.ts';
import { meaningHash } from '../../../../src/workloads/same-template.ts';
import { templateInputsHash } from '../../../../src/workloads/template-inputs.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import {
  dice,
  type Json,
  OF_THE_APP,
  REAL_CHANGES,
  respelled,
  respelledQuantity,
  withVariablesOfTheApp,
} from '../../../arbitraries/spellings.ts';
import { message, NAMESPACE, settled, template } from '../../cluster/operator/fixtures.ts';
import { SELF_HOSTED } from '../../workloads/render-request.ts';

/** As the hub has it in the custom resource. */
function podTemplateOf(spec: ResourceSpec): Json {
  const members = {
    labels: spec.labels,
    annotations: spec.annotations,
    imagePullSecrets: spec.image_pull_secrets,
    volumes: spec.volumes,
    volumeMounts: spec.volume_mounts,
    initContainers: spec.init_containers,
    sidecars: spec.sidecars,
  };
  return JSON.parse(JSON.stringify(members, (_, value) => value ?? undefined)) as Json;
}

const seed = fc.integer();
const anyTemplate = fc
  .tuple(validResourceSpec(), seed)
  .map(([spec, start]) => withVariablesOfTheApp(podTemplateOf(spec), start));
const form = (podTemplate: Json) => canonicalJson(normalPodTemplate(podTemplate));

const SPEC = {
  deploymentId: '0197a000-0000-7000-8000-00000000abcd',
  revision: { number: 1, image: 'web:1' },
};

function resource(podTemplate: Json, more: Json = {}): ManagedDeployment {
  const spec = managedDeploymentSpecSchema.parse({ ...SPEC, ...more, podTemplate });
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ManagedDeployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec,
  } as ManagedDeployment;
}

/** `pods_roll` of the dry run of such a change; without a configuration, of a listener that has not reported yet. */
function podsRoll(before: Json, after: Json, config: RenderConfig | null = null): boolean {
  const both = { before: resource(before), after: resource(after) };
  return rolledParts({ ...both, served: both }, { builds: false, config }).length > 0;
}

const CONFIGS: RenderConfig[] = (['self_hosted', 'cloud'] as const).flatMap((hosting) =>
  (['baseline', 'restricted'] as const).map((podSecurity) => ({ ...SELF_HOSTED, hosting, podSecurity })),
);

describe('normal forms of quantities', () => {
  test.each([
    ['64Mi', '65536Ki', '67108864', '0.0625Gi'],
    ['500m', '0.5', '.5', '5e-1', '500000u'],
    ['1', '1000m', '1.0', '1e0', '+1'],
    ['1k', '1e3', '1000', '1E3'],
    ['0', '0m', '0Ki', '0.0'],
    ['1536Mi', '1.5Gi'],
  ])('are %s for every spelling', (wanted, ...others) => {
    expect([wanted, ...others].map(normalQuantity)).toEqual([wanted, ...others].map(() => wanted));
  });

  test.each([
    ['300m', '0.3', '0.30000000000000004', '300000001n', '300m'],
    ['1', '1.0000000000000002', '0.9999999999999999', '1000m'],
    ['501m', '0.5005', '500000002n', '0.501'],
    ['0', '0', '0m'],
  ])('are %s for every spelling of cores that the API server stores as equal', (wanted, ...others) => {
    expect([wanted, ...others].map(normalCores)).toEqual([wanted, ...others].map(() => wanted));
  });

  test.each([undefined, null, 'a lot', 7])(
    'are the value itself for cores that are not a quantity: %s',
    (value) => {
      expect(normalCores(value)).toBe(normalQuantity(value));
    },
  );

  test('have the same amount, and are their own normal forms', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1n << 70n }), seed, (nano, start) => {
        const text = respelledQuantity(`${nano}n`, dice(start));
        const normal = String(normalQuantity(text));
        expect(parseQuantity(normal)).toBe(nano);
        expect(normalQuantity(normal)).toBe(normal);
        expect(normalQuantity(`${nano + 1n}n`)).not.toBe(normal);
      }),
    );
  });
});

describe('another spelling of the same pod template', () => {
  test('has the same normal form, and the dry run reports that no pods roll', () => {
    fc.assert(
      fc.property(anyTemplate, seed, (podTemplate, start) => {
        const other = respelled(podTemplate, start);
        expect(form(other)).toBe(form(podTemplate));
        expect([null, ...CONFIGS].map((config) => podsRoll(podTemplate, other, config))).toEqual(
          [null, ...CONFIGS].map(() => false),
        );
      }),
      { numRuns: 150 },
    );
  }, 60_000);

  test('lets the operator store nothing, write no workload and restart no pod', async () => {
    await fc.assert(
      fc.asyncProperty(anyTemplate, seed, async (podTemplate, start) => {
        const world = await settled({ ...SPEC, podTemplate });
        // A policy or a cluster that is too old may refuse what was generated: then nothing runs.
        fc.pre(world.condition('Ready') === 'True Converged');
        const before = [world.cluster.ids(), template(world, 'api')];
        world.change({ ...SPEC, podTemplate: respelled(podTemplate, start) });
        const writes = (await world.converge()).filter((write) => !write.startsWith('status '));
        expect(writes).toEqual([]);
        expect([world.cluster.ids(), template(world, 'api')]).toEqual(before);
        expect([world.condition('Ready'), message(world, 'Progressing')]).toEqual([
          'True Converged',
          expect.stringContaining('revision 1'),
        ]);
      }),
      { numRuns: 8 },
    );
  }, 120_000);

  test.each<[string, object, object]>([
    ['cpu of the app', { requests: { cpu: '0.5' } }, { requests: { cpu: '500m' } }],
    [
      'requests that equal their limits',
      { limits: { cpu: '1' } },
      { limits: { cpu: '1' }, requests: { cpu: '1000m' } },
    ],
    ['empty requests and limits', {}, { limits: {}, requests: {} }],
    ['float noise', { requests: { cpu: '0.30000000000000004' } }, { requests: { cpu: '0.3' } }],
    ['cores finer than a thousandth', { limits: { cpu: '0.5005' } }, { limits: { cpu: '501m' } }],
  ])('causes no write for the app, the database and the cache: %s', async (_, first, second) => {
    const spec = (resources: object) => ({
      ...SPEC,
      components: { api: { resources }, queue: { resources } },
      database: { resources },
      cache: { resources },
    });
    const world = await settled(spec(first));
    world.change(spec(second));
    expect((await world.converge()).filter((write) => !write.startsWith('status '))).toEqual([]);
  });
});

describe('a field with the value that the rendered template already has', () => {
  const sidecar = (more: Json): Json => ({ sidecars: [{ name: 'side', image: 'side:1', ...more }] });
  const security = (securityContext: Json) => sidecar({ securityContext });
  const capabilities = (more: Json) => security({ capabilities: { add: ['NET_BIND_SERVICE'], ...more } });
  const native = { name: 'native', image: 'side:1', restartPolicy: 'Always' };
  const plain = { name: 'plain', image: 'side:1' };

  test.each<[string, Partial<RenderConfig>, Json, Json]>([
    ['the pull policy of cloud', { hosting: 'cloud' }, sidecar({}), sidecar({ imagePullPolicy: 'Always' })],
    [
      'a pull policy that cloud ignores',
      { hosting: 'cloud' },
      sidecar({}),
      sidecar({ imagePullPolicy: 'Never' }),
    ],
    ['not as root', { podSecurity: 'restricted' }, sidecar({}), security({ runAsNonRoot: true })],
    ['no capabilities', { podSecurity: 'restricted' }, sidecar({}), security({ capabilities: {} })],
    ['drop ALL beside add', { podSecurity: 'restricted' }, capabilities({}), capabilities({ drop: ['ALL'] })],
    ['the default container', {}, {}, { annotations: { 'kubectl.kubernetes.io/default-container': 'app' } }],
    ['a label of Berth', {}, {}, { labels: { 'app.kubernetes.io/managed-by': 'x' } }],
    ['a native sidecar before others', {}, { sidecars: [native, plain] }, { sidecars: [plain, native] }],
  ])('rolls no pods when it is written explicitly: %s', (_, config, one, other) => {
    expect(podsRoll(one, other, { ...SELF_HOSTED, ...config })).toBe(false);
    expect(podsRoll(other, one, { ...SELF_HOSTED, ...config })).toBe(false);
    expect(podsRoll(one, other)).toBe(true);
  });

  test.each<[string, Partial<RenderConfig>, Json, Json]>([
    ['a pull policy', {}, sidecar({}), sidecar({ imagePullPolicy: 'Always' })],
    ['not as root', { podSecurity: 'baseline' }, sidecar({}), security({ runAsNonRoot: true })],
    ['no capabilities', { podSecurity: 'baseline' }, sidecar({}), security({ capabilities: {} })],
    ['drop ALL beside add', { podSecurity: 'baseline' }, capabilities({}), capabilities({ drop: ['ALL'] })],
  ])('rolls pods when the rendered template has another value: %s', (_, config, one, other) => {
    expect(podsRoll(one, other, { ...SELF_HOSTED, ...config })).toBe(true);
  });
});

describe('the parts that a change rolls', () => {
  const components = (queueCpu: string, api: Json = {}) =>
    resource({}, { components: { api, queue: { resources: { requests: { cpu: queueCpu } } } } });
  const roll = (before: ManagedDeployment, after: ManagedDeployment, more: object = {}) =>
    rolledParts(
      { before, after, served: { before, after } },
      { builds: false, config: SELF_HOSTED, ...more },
    );

  test('are the components with other pods, or all of them when they are not known', () => {
    const [before, after] = [components('1'), components('2')];
    expect(roll(before, after)).toEqual(['queue']);
    expect(roll(before, after, { config: null })).toEqual(['api', 'queue']);
    expect(roll(before, before, { builds: true })).toEqual(['api', 'queue']);
    expect(roll(before, before)).toEqual([]);
    const both = components('2', { resources: { requests: { cpu: '2' } } });
    expect(roll(before, both)).toEqual(['api', 'queue']);
    expect(roll(resource({}), after)).toEqual([]);
  });

  test('are the data services with other pods', () => {
    const [before, after] = ['1Gi', '2Gi'].map((memory) =>
      resource({}, { cache: { resources: { requests: { memory } } } }),
    );
    expect(roll(before as ManagedDeployment, after as ManagedDeployment)).toEqual(['cache']);
  });
});

describe('a change of the meaning', () => {
  test.each(OF_THE_APP)('rolls pods when an empty value replaces %s of the app', (name) => {
    const config = { ...SELF_HOSTED, otlpEndpoint: 'https://collector.example', otlpHeadersSecret: 'otlp' };
    const side = (value: Json): Json => ({
      sidecars: [{ name: 'side', image: 'side:1', env: [{ name, ...value }] }],
    });
    const secrets = {
      revision: { ...SPEC.revision, envSecretName: 'web-env' },
      tracing: { project: 'shop', ...(EXPORTER_VARIABLE.test(name) ? { exporterVariables: [name] } : {}) },
    };
    const [asked, empty] = [{}, { value: '' }].map((value) => resource(side(value), secrets));
    const both = { before: asked as ManagedDeployment, after: empty as ManagedDeployment };
    for (const context of [null, config])
      expect(rolledParts({ ...both, served: both }, { builds: false, config: context })).toEqual(['api']);
    expect(templateInputsHash(both.before)).not.toBe(templateInputsHash(both.after));
  });

  test.each(Object.entries(REAL_CHANGES))(
    'has another normal form and rolls pods: %s',
    (_, change) => {
      let changed = 0;
      fc.assert(
        fc.property(anyTemplate, seed, (podTemplate, start) => {
          const other = structuredClone(podTemplate);
          const lists = ['sidecars', 'initContainers'].map((list) => (other[list] ?? []) as Json[]);
          const first = lists.flat()[0];
          if (first === undefined || change(other, first) === false) return;
          changed += 1;
          expect(form(other)).not.toBe(form(podTemplate));
          const written = respelled(other, start);
          expect(podsRoll(podTemplate, written)).toBe(true);
          // A native sidecar may be moved between others: the rendered pods stay the same.
          const [one, next] = [podTemplate, written].map(
            (value) => renderTemplates(resource(value), SELF_HOSTED).api ?? {},
          );
          const isSame = meaningHash(one ?? {}) === meaningHash(next ?? {});
          expect(podsRoll(podTemplate, written, SELF_HOSTED)).toBe(!isSame);
        }),
        { numRuns: 60 },
      );
      expect(changed).toBeGreaterThan(0);
    },
    60_000,
  );

  test.each<[string, object, object]>([
    ['read-only', { readOnly: false }, { readOnly: true }],
    ['another file mode', { defaultMode: 420 }, { defaultMode: 0o600 }],
  ])('has another normal form in a volume: %s', (_, one, other) => {
    const volume = (more: object): Json => ({
      volumes: [{ name: 'v', secret: { secretName: 's', ...more } }],
    });
    expect(form(volume(one))).not.toBe(form(volume(other)));
  });
});

describe('templates that earlier versions stored', () => {
  test('are found by the hash that was written then', async () => {
    const podTemplate = {
      sidecars: [{ name: 'log', image: 'log:1', resources: { limits: { memory: '65536Ki' } }, args: [] }],
    };
    const { isTemplateInputsHash, templateInputs } = await import(
      '../../../../src/workloads/template-inputs.ts'
    );
    const { contentHash } = await import('../../../../src/domain/core/hash.ts');
    const spelled = resource(podTemplate);
    const asWritten = templateInputs(spelled, { podTemplate: (value) => value, resources: (value) => value });
    expect(isTemplateInputsHash(spelled, contentHash(asWritten))).toBe(true);
  });

  test('continue to run byte for byte under the new name when the spec is respelled', async () => {
    const podTemplate = (memory: string) => ({
      sidecars: [{ name: 'log', image: 'log:1', resources: { limits: { memory } } }],
    });
    const world = await settled({ ...SPEC, podTemplate: podTemplate('65536Ki') });
    const before = template(world, 'api');
    const [stored] = world.cluster
      .list('ControllerRevision')
      .filter(({ metadata }) => metadata.name === 'web-1');
    world.cluster.edit(`ControllerRevision/${NAMESPACE}/${stored?.metadata.name}`, ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'berth.dev/inputs-hash': '0123456789abcdef' };
    });
    world.change({ ...SPEC, podTemplate: podTemplate('64Mi') });
    await world.converge();
    expect(template(world, 'api')).toEqual(before);
    expect(world.condition('Ready')).toBe('True Converged');
  });
});
