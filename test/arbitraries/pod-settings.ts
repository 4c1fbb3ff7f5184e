import fc from 'fast-check';
import type { PodSettings, PodSettingsBody } from '../../src/domain/pod-settings/pod-settings.ts';
import { SECURITY_PROFILES } from '../../src/domain/pod-settings/security-profile.ts';

/** Random pod settings that the API accepts in self_hosted mode. */

/** One value of each field. */
export const fullPodSettings = {
  security_profile: 'restricted',
} satisfies PodSettings;

const VALUES: { readonly [Field in keyof PodSettings]-?: fc.Arbitrary<NonNullable<PodSettings[Field]>> } = {
  security_profile: fc.constantFrom(...SECURITY_PROFILES),
};

const record = <T>(model: { [Field in keyof T]: fc.Arbitrary<T[Field]> }) =>
  fc.record(model, { requiredKeys: [] });

/** Pod settings as they are stored. */
export const podSettings = (): fc.Arbitrary<PodSettings> => record(VALUES) as fc.Arbitrary<PodSettings>;

const orNull = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: null });

/** Pod settings of a PATCH, in which null clears. */
export const sentPodSettings = (): fc.Arbitrary<PodSettingsBody> =>
  record(
    Object.fromEntries(Object.entries(VALUES).map(([field, value]) => [field, orNull(value)])),
  ) as fc.Arbitrary<PodSettingsBody>;
