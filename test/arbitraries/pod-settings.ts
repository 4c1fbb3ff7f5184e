import fc from 'fast-check';
import { HEALTH_CHECK_LIMITS, type HealthCheck } from '../../src/domain/pod-settings/health-check.ts';
import type { PodSettings, PodSettingsBody } from '../../src/domain/pod-settings/pod-settings.ts';
import { SECURITY_PROFILES } from '../../src/domain/pod-settings/security-profile.ts';
import { COMPONENTS } from '../../src/domain/resource-spec/components.ts';

/** Random pod settings that the API accepts in self_hosted mode. */

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

const VALUES: { readonly [Field in keyof PodSettings]-?: fc.Arbitrary<NonNullable<PodSettings[Field]>> } = {
  security_profile: fc.constantFrom(...SECURITY_PROFILES),
  health_checks: perComponent(healthCheck()),
};

/** Pod settings as they are stored. */
export const podSettings = (): fc.Arbitrary<PodSettings> => record(VALUES) as fc.Arbitrary<PodSettings>;

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

/** Pod settings of a PATCH, in which null clears. */
export const sentPodSettings = (): fc.Arbitrary<PodSettingsBody> =>
  record(
    Object.fromEntries(Object.entries(VALUES).map(([field, value]) => [field, orNull(someNull(value))])),
  ) as fc.Arbitrary<PodSettingsBody>;
