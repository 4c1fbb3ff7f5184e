import { type SecurityProfile, securityProfileSchema } from './security-profile.ts';

/**
 * The optional fields of source_config that change pods in place: a change replaces pods, but creates no revision. A field
 * that is not set is absent everywhere: in the database, in responses and in the custom resource. So a deployment without
 * these fields is equal to one that an earlier version stored.
 */
export interface PodSettings {
  security_profile?: SecurityProfile | undefined;
}

/** These fields of a request. null has the same meaning as an absent field, except in a PATCH, where null clears. */
export const podSettingsBodyShape = {
  security_profile: securityProfileSchema.nullish(),
};
type Sent<T> = { [Field in keyof T]?: T[Field] | null | undefined };
export type PodSettingsBody = Sent<PodSettings>;

/** These fields of a response. A field that is not set is absent. */
export const shownPodSettingsShape = {
  security_profile: securityProfileSchema.optional(),
};

/** The fields, in the order of the contract. */
export const POD_SETTINGS = Object.keys(podSettingsBodyShape) as (keyof PodSettings)[];

/** Only these fields of an object, without unset ones, in the order of the contract. */
export function podSettingsOf(config: PodSettingsBody): PodSettings {
  const given = POD_SETTINGS.map((field) => [field, config[field]] as const);
  return Object.fromEntries(given.filter(([, value]) => value != null)) as PodSettings;
}

/** The other fields of an object. */
export function withoutPodSettings<T extends PodSettings>(config: T): Omit<T, keyof PodSettings> {
  const others = Object.entries(config).filter(([field]) => !(POD_SETTINGS as string[]).includes(field));
  return Object.fromEntries(others) as Omit<T, keyof PodSettings>;
}

/** Merges these fields of a PATCH. An absent field keeps its value, and null clears it. */
export function mergePodSettings(stored: PodSettings, sent: PodSettingsBody): PodSettings {
  const merged: PodSettingsBody = podSettingsOf(stored);
  for (const field of POD_SETTINGS) {
    if (sent[field] !== undefined) merged[field] = sent[field];
  }
  return podSettingsOf(merged);
}
