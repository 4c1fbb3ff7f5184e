import fc from 'fast-check';
import { MAX_GPUS } from '../../src/domain/pod-settings/gpu.ts';
import { HEALTH_CHECK_LIMITS, type HealthCheck } from '../../src/domain/pod-settings/health-check.ts';
import type { Placement } from '../../src/domain/pod-settings/placement.ts';
import type { PodSettings, PodSettingsBody } from '../../src/domain/pod-settings/pod-settings.ts';
import { SECURITY_PROFILES } from '../../src/domain/pod-settings/security-profile.ts';
import { COMPONENTS } from '../../src/domain/resource-spec/components.ts';

/** Random pod settings that the API accepts in self_hosted mode with a policy that lists every toleration. */

/** One value of each field. */
export const fullPodSettings = {
  security_profile: 'restricted',
  health_checks: {
    api: {
      type: 'http',
      path: '/healthz?full=1',
      port: 9000,
      timeout_seconds: 2,
      period_seconds: 20,
      failure_threshold: 4,
      startup_seconds: 90,
    },
    queue: { type: 'exec', command: ['/bin/check', '--queue'] },
  },
  placement: {
    api: {
      node_selector: { 'kubernetes.io/arch': 'arm64' },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: 'example.com/disk', operator: 'In', values: ['ssd', 'nvme'] },
                  { key: 'example.com/generation', operator: 'Gt', values: ['3'] },
                ],
                matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }],
              },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 10,
              preference: { matchExpressions: [{ key: 'example.com/spot', operator: 'DoesNotExist' }] },
            },
          ],
        },
        podAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 100,
              podAffinityTerm: {
                labelSelector: { matchLabels: { app: 'cache' } },
                namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
                topologyKey: 'topology.kubernetes.io/zone',
                matchLabelKeys: ['pod-template-hash'],
              },
            },
          ],
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              labelSelector: { matchExpressions: [{ key: 'noisy', operator: 'In', values: ['true'] }] },
              namespaces: ['batch'],
              topologyKey: 'kubernetes.io/hostname',
              mismatchLabelKeys: ['tenant'],
            },
          ],
        },
      },
    },
    queue: { node_selector: { 'example.com/pool': 'batch' } },
  },
  gpu: {
    api: { resource: 'nvidia.com/gpu', count: 2 },
    queue: { resource: 'nvidia.com/mig-1g.5gb', count: 1 },
  },
  database: { enabled: false, remove_volume: true },
  cache: { enabled: false },
} satisfies PodSettings;

const record = <T>(model: { [Field in keyof T]: fc.Arbitrary<T[Field]> }) =>
  fc.record(model, { requiredKeys: [] });

/** Values for some of the components. */
const perComponent = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(fc.constantFrom(...COMPONENTS), value, { minKeys: 1 });

const upTo = (max: number) => fc.integer({ min: 1, max });
const times = {
  timeout_seconds: upTo(HEALTH_CHECK_LIMITS.timeoutSeconds),
  period_seconds: upTo(HEALTH_CHECK_LIMITS.periodSeconds),
  failure_threshold: upTo(HEALTH_CHECK_LIMITS.failureThreshold),
  startup_seconds: upTo(HEALTH_CHECK_LIMITS.startupSeconds),
};
const port = upTo(65_535);

/** Health checks that the schema accepts. */
export const healthCheck = (): fc.Arbitrary<HealthCheck> =>
  fc.oneof(
    fc.constant({ type: 'none' } as const),
    record({ path: fc.constantFrom('/', '/healthz', '/a/b?c=d&e=%20'), port, ...times }).map((rest) => ({
      type: 'http' as const,
      ...rest,
    })),
    record({ port, ...times }).map((rest) => ({ type: 'tcp' as const, ...rest })),
    fc
      .tuple(
        fc.array(fc.string({ maxLength: 20, unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
        record(times),
      )
      .map(([command, rest]) => ({ type: 'exec' as const, command, ...rest })),
  ) as fc.Arbitrary<HealthCheck>;

const labels = fc.dictionary(
  fc.constantFrom('kubernetes.io/arch', 'example.com/pool', 'disk'),
  fc.constantFrom('', 'a', 'b-1'),
  { minKeys: 1 },
);
const nodeTerm = record({
  matchExpressions: fc.array(
    fc.oneof(
      fc.record({
        key: fc.constantFrom('example.com/pool', 'disk'),
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.array(fc.constantFrom('a', 'b-1'), { minLength: 1, maxLength: 3 }),
      }),
      fc.record({ key: fc.constant('disk'), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    ),
    { maxLength: 2 },
  ),
});

const effects = { effect: fc.constantFrom('NoSchedule', 'PreferNoSchedule', 'NoExecute') };
const taintKey = fc.constantFrom('example.com/gpu', 'dedicated');
const toleration = fc.oneof(
  record({ operator: fc.constant('Exists'), ...effects, key: taintKey }).map((given) => ({
    ...given,
    operator: 'Exists',
  })),
  record({ value: fc.constantFrom('', 'a', 'b-1'), operator: fc.constant('Equal'), ...effects }).chain(
    (given) => taintKey.map((key) => ({ key, ...given })),
  ),
  taintKey.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })),
);

/** The policy of self_hosted accepts these placements, if it lists every toleration. */
const placement = (): fc.Arbitrary<Placement> =>
  record({
    node_selector: labels,
    tolerations: fc.array(toleration, { maxLength: 2 }),
    affinity: record({
      nodeAffinity: record({
        requiredDuringSchedulingIgnoredDuringExecution: fc.record({
          nodeSelectorTerms: fc.array(nodeTerm, { minLength: 1, maxLength: 2 }),
        }),
        preferredDuringSchedulingIgnoredDuringExecution: fc.array(
          fc.record({ weight: upTo(100), preference: nodeTerm }),
          { maxLength: 2 },
        ),
      }),
      podAntiAffinity: record({
        requiredDuringSchedulingIgnoredDuringExecution: fc.array(
          fc.record({
            labelSelector: fc.record({ matchLabels: labels }),
            topologyKey: fc.constantFrom('kubernetes.io/hostname', 'topology.kubernetes.io/zone'),
          }),
          { maxLength: 2 },
        ),
      }),
    }),
  }) as fc.Arbitrary<Placement>;

type Values = { readonly [Field in keyof PodSettings]-?: fc.Arbitrary<NonNullable<PodSettings[Field]>> };

const DATA_SERVICES: Pick<Values, 'database' | 'cache'> = {
  database: fc.constantFrom({ enabled: true }, { enabled: false }, { enabled: false, remove_volume: true }),
  cache: fc.record({ enabled: fc.boolean() }),
};

const VALUES: Omit<Values, 'database' | 'cache'> = {
  security_profile: fc.constantFrom(...SECURITY_PROFILES),
  health_checks: perComponent(healthCheck()),
  placement: perComponent(placement()),
  gpu: perComponent(
    fc.record({ resource: fc.constantFrom('nvidia.com/gpu', 'amd.com/gpu'), count: upTo(MAX_GPUS) }),
  ),
};

/** Settings of app pods as they are stored, without those of the data services. */
export const podSettings = (): fc.Arbitrary<PodSettings> => record(VALUES) as fc.Arbitrary<PodSettings>;

/** All settings that apply in place, as they are stored. */
export const inPlaceSettings = (): fc.Arbitrary<PodSettings> =>
  record({ ...VALUES, ...DATA_SERVICES }) as fc.Arbitrary<PodSettings>;

const orNull = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });

/** Some of the components of a value are null. */
const someNull = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.subarray([...COMPONENTS]))
    .map(([settings, cleared]) =>
      typeof settings === 'object'
        ? { ...settings, ...Object.fromEntries(cleared.map((name) => [name, null])) }
        : settings,
    );

/** Some of the members of a value are null. */
const someMembersNull = (value: fc.Arbitrary<object>) =>
  value.chain((settings) =>
    fc
      .subarray(Object.keys(settings))
      .map((cleared) => ({ ...settings, ...Object.fromEntries(cleared.map((name) => [name, null])) })),
  );

/** Pod settings of a PATCH, in which null clears. */
export const sentPodSettings = (): fc.Arbitrary<PodSettingsBody> =>
  record(
    Object.fromEntries([
      ...Object.entries(VALUES).map(([field, value]) => [field, orNull(someNull(value))] as const),
      ...Object.entries(DATA_SERVICES).map(
        ([field, value]) => [field, orNull(someMembersNull(value))] as const,
      ),
    ]),
  ) as fc.Arbitrary<PodSettingsBody>;
