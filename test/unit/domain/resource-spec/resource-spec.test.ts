import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COMPONENT_FIELDS,
  COMPONENTS,
  componentExists,
  componentFields,
} from '../../../../src/domain/resource-spec/components.ts';
import {
  milliCpu,
  RESOURCE_SPEC_FIELDS,
  type ResourceSpec,
  resourceSpecSchema,
} from '../../../../src/domain/resource-spec/resource-spec.ts';
import { resourceSpecInputSchema } from '../../../../src/domain/resource-spec/resource-spec-input.ts';
import { fullResourceSpec, validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import { leavesOf } from '../../contract/schema-walk.ts';
import { accepts, rejects } from '../kubernetes/cases.ts';

/** The interface's own list (fields of ResourceSpec), counted there: 31 numbers and 8 settings. */
const NUMBERS = RESOURCE_SPEC_FIELDS.slice(0, 31);

const side = (over: object = {}) => ({ name: 's', image: 'i', ...over });

describe('resourceSpecSchema', () => {
  it('has the fields of the interface, and the full example uses all of them', () => {
    expect(RESOURCE_SPEC_FIELDS).toHaveLength(39);
    expect(Object.keys(fullResourceSpec)).toEqual(RESOURCE_SPEC_FIELDS);
    expect(resourceSpecSchema.parse(fullResourceSpec)).toEqual(fullResourceSpec);
  });

  it('accepts every field as absent and as null', () => {
    expect(resourceSpecSchema.parse({})).toEqual({});
    const nulls = Object.fromEntries(RESOURCE_SPEC_FIELDS.map((field) => [field, null]));
    expect(resourceSpecSchema.parse(nulls)).toEqual(nulls);
  });

  it('describes every field', () => {
    for (const field of RESOURCE_SPEC_FIELDS)
      expect(resourceSpecSchema.shape[field].description).toMatch(/\.$/);
  });

  it('accepts every spec of the arbitraries unchanged', () => {
    fc.assert(
      fc.property(validResourceSpec({ serviceAccountTokens: true }), (spec) => {
        expect(resourceSpecSchema.parse(spec)).toEqual(spec);
        expect(resourceSpecInputSchema.parse(spec)).toEqual(spec);
      }),
    );
  });

  const wholeNumbers = NUMBERS.filter((field) => !/^(queue_|cache_)?cpu(_limit)?$/.test(field));
  rejects(resourceSpecSchema, [
    ...NUMBERS.flatMap((field) => [
      [`a text as ${field}`, { [field]: '1' }, field] as const,
      [`-1 as ${field}`, { [field]: -1 }, field] as const,
      [`an endless ${field}`, { [field]: Number.POSITIVE_INFINITY }, field] as const,
      [`a huge ${field}`, { [field]: 1e15 }, field] as const,
      [`true as ${field}`, { [field]: true }, field] as const,
    ]),
    ...wholeNumbers.map((field) => [`a fraction as ${field}`, { [field]: 1.5 }, field] as const),
    ...NUMBERS.filter((field) => !field.includes('scale')).map(
      (field) => [`0 as ${field}`, { [field]: 0 }, field] as const,
    ),
    ['a cpu finer than 0.001', { cpu: 0.0005 }, 'cpu'],
    ['a cpu between two steps', { cache_cpu: 1.0001 }, 'cache_cpu'],
    ['an unknown field', { replicas: 1 }, 'replicas'],
    ['hostNetwork', { hostNetwork: true }, 'hostNetwork'],
    ['a field of the executor that is none', { executor_max_scale: 1 }, 'executor_max_scale'],
    ['constructor', { constructor: 1 }, 'constructor'],
    ['__proto__', JSON.parse('{"__proto__": {}}'), '__proto__'],
    ['a list', [], ''],
    ['a reserved label', { labels: { 'berth.dev/deployment-id': 'x' } }, 'labels.berth.dev/deployment-id'],
    ['a label below our domain', { labels: { 'x.berth.dev/a': '' } }, 'labels.x.berth.dev/a'],
    ...['name', 'instance', 'component', 'part-of', 'managed-by', 'version'].map(
      (part) =>
        [
          `the label ${part}`,
          { labels: { [`app.kubernetes.io/${part}`]: 'x' } },
          `labels.app.kubernetes.io/${part}`,
        ] as const,
    ),
    ['pod-template-hash', { labels: { 'pod-template-hash': 'x' } }, 'labels.pod-template-hash'],
    ...[
      'berth.dev/paused',
      'Berth.dev/paused',
      'deployment.kubernetes.io/revision',
      'kubernetes.io/config.mirror',
      'scheduler.alpha.kubernetes.io/tolerations',
      'seccomp.security.alpha.kubernetes.io/pod',
      'container.apparmor.security.beta.kubernetes.io/app',
      'kubectl.kubernetes.io/last-applied-configuration',
    ].map((key) => [`the annotation ${key}`, { annotations: { [key]: 'x' } }, `annotations.${key}`] as const),
    ['a bad service account', { service_account_name: 'A' }, 'service_account_name'],
    ['a pull secret without name', { image_pull_secrets: [{}] }, 'image_pull_secrets.0.name'],
    [
      'a pull secret twice',
      { image_pull_secrets: [{ name: 'a' }, { name: 'a' }] },
      'image_pull_secrets.1.name',
    ],
    ['a volume in our name space', { volumes: [{ name: 'berth-data' }] }, 'volumes.0.name'],
    [
      'a Bidirectional mount of the app',
      { volume_mounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] },
      'volume_mounts.0.mountPropagation',
    ],
    ['a sidecar named app', { sidecars: [side({ name: 'app' })] }, 'sidecars.0.name'],
    [
      'an init container named app',
      { init_containers: [side(), side({ name: 'app' })] },
      'init_containers.1.name',
    ],
    [
      'a fault deep inside',
      {
        sidecars: [
          side(),
          side({ name: 't', env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'x' } } }] }),
        ],
      },
      'sidecars.1.env.0.valueFrom.fieldRef.fieldPath',
    ],
  ]);

  accepts(resourceSpecSchema, [
    ['thousandths that binary fractions cannot hold', { cpu: 1.001, cpu_limit: 0.29 + 0, queue_cpu: 4.35 }],
    ['zero scales', { min_scale: 0, max_scale: 0, queue_max_scale: 0 }],
    ['a patch that mounts volumes stored before', { volume_mounts: [{ name: 'stored', mountPath: '/s' }] }],
    ['whole numbers written as 1.0', JSON.parse('{"memory_mb": 512.0}')],
    [
      'the reserved environment names in a sidecar',
      { sidecars: [side({ env: [{ name: 'PORT', value: '9' }] })] },
    ],
    ['the recommended labels that are not ours', { labels: { 'app.kubernetes.io/created-by': 'me' } }],
  ]);
});

describe('milliCpu', () => {
  it('is exact for every cpu that the schema accepts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256_000 }), (milli) => {
        expect(milliCpu(milli / 1000)).toBe(milli);
        expect(resourceSpecSchema.safeParse({ cpu: milli / 1000 }).success).toBe(true);
      }),
    );
  });
});

describe('resourceSpecInputSchema', () => {
  it('treats null as absent inside containers, volumes and mounts', () => {
    const sent = {
      min_scale: null,
      labels: null,
      volumes: [{ name: 'v', configMap: null, emptyDir: { medium: null, sizeLimit: '1Gi' } }],
      sidecars: [
        side({ env: null, resources: { limits: { cpu: null }, requests: null }, securityContext: null }),
      ],
    };
    expect(resourceSpecInputSchema.parse(sent)).toEqual({
      min_scale: null,
      labels: null,
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
      sidecars: [side({ resources: { limits: {} } })],
    });
  });

  it('accepts quantities as numbers', () => {
    const sent = {
      volumes: [{ name: 'v', emptyDir: { sizeLimit: 1024 } }],
      init_containers: [side({ resources: { limits: { cpu: 0.5, memory: 1e9 } } })],
    };
    const parsed = resourceSpecInputSchema.parse(sent);
    expect(parsed.volumes?.[0]?.emptyDir?.sizeLimit).toBe('1024');
    expect(parsed.init_containers?.[0]?.resources?.limits).toEqual({ cpu: '0.5', memory: '1000000000' });
  });

  const FRACTIONAL = RESOURCE_SPEC_FIELDS.filter(
    (field) => resourceSpecSchema.shape[field].safeParse(0.5).success,
  );

  it.each(FRACTIONAL)('rounds float noise of %s to the millicore', (field) => {
    const parsed = resourceSpecInputSchema.parse({ [field]: 0.1 + 0.2 });
    expect(parsed).toEqual({ [field]: 0.3 });
    expect(resourceSpecInputSchema.parse(parsed)).toEqual(parsed);
  });

  it('rounds sums, products and quotients of millicores', () => {
    const milli = fc.integer({ min: 1, max: 1000 });
    fc.assert(
      fc.property(milli, milli, fc.integer({ min: 2, max: 9 }), (a, b, n) => {
        for (const [sent, meant] of [
          [a / 1000 + b / 1000, a + b],
          [(a / 1000) * n, a * n],
          [(a * n) / 1000 / n, a],
        ] as const)
          expect(resourceSpecInputSchema.parse({ cpu: sent })).toEqual({ cpu: meant / 1000 });
      }),
    );
  });

  const cores = leavesOf(resourceSpecSchema).filter(({ path }) => /^[^.[]*cpu[^.[]*$/.test(path));

  it('has the CPU fields of four components, the cache and the database', () => {
    expect(cores.map(({ path }) => path).toSorted()).toEqual(
      RESOURCE_SPEC_FIELDS.filter((field) => field.includes('cpu')).toSorted(),
    );
    expect(cores).toHaveLength(12);
  });

  it.each(cores.map(({ path }) => path))('rounds the cores of %s', (field) => {
    for (const [sent, meant] of [
      [1.0000000000000002, 1],
      [0.9999999999999999, 1],
      [1.1 + 2.2 - 0.3, 3],
      [256.00000000000006, 256],
    ])
      expect(resourceSpecInputSchema.parse({ [field]: sent })).toEqual({ [field]: meant });
  });

  it('rounds at the bounds of the field', () => {
    expect(resourceSpecInputSchema.parse({ cpu: 256.00000000000006 })).toEqual({ cpu: 256 });
    expect(resourceSpecInputSchema.parse({ cpu: 0.0009999999999999998 })).toEqual({ cpu: 0.001 });
  });

  it.each([
    [0.1 + 0.2, '0.3'],
    ['0.30000000000000004', '0.3'],
    ['0.300000000000000000000001', '0.3'],
    ['300.00000000000006m', '0.3'],
    ['1.9999999999999998', '2'],
    ['0.5', '0.5'],
    ['0.50', '0.50'],
    ['300m', '300m'],
  ])('reads the cpu %j of a container as %j', (cpu, taken) => {
    const sidecars = [side({ resources: { requests: { cpu }, limits: { cpu } } })];
    const parsed = resourceSpecInputSchema.parse({ sidecars });
    expect(parsed.sidecars?.[0]?.resources).toEqual({ requests: { cpu: taken }, limits: { cpu: taken } });
  });

  rejects(resourceSpecInputSchema, [
    ['a difference above float noise', { cpu: 0.300000001 }, 'cpu'],
    ['half a millicore', { cache_cpu: 0.0005 }, 'cache_cpu'],
    ['next to nothing', { cpu: 1e-20 }, 'cpu'],
    ['noise around zero', { cpu: 5e-324 }, 'cpu'],
    ['a whole number with a fraction', { memory_mb: 512.0000001 }, 'memory_mb'],
    ['whole cores with a fraction', { orchestrator_cpu: 1.001 }, 'orchestrator_cpu'],
    ['whole cores and above noise', { db_cpu: 1.00000001 }, 'db_cpu'],
    [
      'half a millicore of a container',
      { sidecars: [side({ resources: { limits: { cpu: '0.0005000000000' } } })] },
      'sidecars.0.resources.limits.cpu',
    ],
    ['null as a list member', { volumes: [null] }, 'volumes.0'],
    ['null as a label', { labels: { a: null } }, 'labels.a'],
    ['a number as a name', { volumes: [{ name: 1 }] }, 'volumes.0.name'],
    ['an own __proto__', { volumes: [JSON.parse('{"name": "v", "__proto__": {}}')] }, 'volumes.0.__proto__'],
    ['text', 'a', ''],
  ]);

  it('rejects nesting of any depth without a stack overflow', () => {
    let deep: unknown = {};
    for (let level = 0; level < 50_000; level += 1) deep = { emptyDir: deep };
    expect(resourceSpecInputSchema.safeParse({ volumes: [deep] }).success).toBe(false);
  });
});

describe('components', () => {
  it('have all sizing fields except those of cache and database', () => {
    const fields = COMPONENTS.flatMap(componentFields);
    expect(new Set(fields).size).toBe(fields.length);
    expect(new Set(fields)).toEqual(new Set(NUMBERS.filter((field) => !/^(cache|db)_/.test(field))));
    expect(COMPONENT_FIELDS.executor.scale).toBeNull();
  });

  it.each<[string, ResourceSpec, string[]]>([
    ['nothing given', {}, ['api']],
    ['nulls', { queue_cpu: null, executor_cpu: null }, ['api']],
    [
      'one field each',
      { queue_min_scale: 0, orchestrator_max_scale: 0, executor_memory_limit_mb: 1 },
      [...COMPONENTS],
    ],
    ['api fields only', { cpu: 1 }, ['api']],
  ])('exist when a field is given: %s', (_, spec, expected) =>
    expect(COMPONENTS.filter((component) => componentExists(spec, component))).toEqual(expected),
  );
});
