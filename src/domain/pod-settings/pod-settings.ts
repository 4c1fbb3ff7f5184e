import { z } from 'zod';
import {
  allMembers,
  type CacheSettings,
  type DatabaseSettings,
  dataServicesBodyShape,
  isDataServiceSetting,
  mergeDataService,
  setMembers,
  shownCacheSchema,
  shownDatabaseSchema,
} from './data-services.ts';
import { type Gpu, gpuSchema } from './gpu.ts';
import { type HealthCheck, healthCheckSchema } from './health-check.ts';
import {
  allComponents,
  mergeComponents,
  type PerComponent,
  sentPerComponent,
  shownPerComponent,
  withValues,
} from './per-component.ts';
import { type Placement, placementSchema } from './placement.ts';
import { type SecurityProfile, securityProfileSchema } from './security-profile.ts';

/**
 * The optional fields of source_config that change pods in place: a change replaces pods, but creates no revision. A field
 * that is not set is absent everywhere: in the database, in responses and in the custom resource. So a deployment without
 * these fields is equal to one that an earlier version stored.
 */
export interface PodSettings {
  security_profile?: SecurityProfile | undefined;
  health_checks?: PerComponent<HealthCheck> | undefined;
  placement?: PerComponent<Placement> | undefined;
  gpu?: PerComponent<Gpu> | undefined;
  database?: DatabaseSettings | undefined;
  cache?: CacheSettings | undefined;
}

const HEALTH_CHECKS =
  'Health checks of the components. Default: a TCP check of the port of api, or an HTTP check if the platform sets a path, and ' +
  'no check of the other components. A PATCH replaces the checks of the components that it contains.';

const PLACEMENT =
  'Nodes on which the pods of the components run: node selectors, tolerations and affinity, within the policy. Default: any node ' +
  'without taints. A PATCH replaces the placement of the components that it contains.';

const GPU =
  'GPUs of the components, within the extended resources that the policy allows. Default: none. A PATCH replaces the GPUs of the ' +
  'components that it contains.';

/** These fields of a request. null has the same meaning as an absent field, except in a PATCH, where null clears. */
export const podSettingsBodyShape = {
  security_profile: securityProfileSchema.nullish(),
  health_checks: sentPerComponent(healthCheckSchema, HEALTH_CHECKS),
  placement: sentPerComponent(placementSchema, PLACEMENT),
  gpu: sentPerComponent(gpuSchema, GPU),
  ...dataServicesBodyShape,
};

/** The value of a component, or a member of a data service, is null if it is not set. */
type SentValue<T> = T extends object ? { readonly [Member in keyof T]?: T[Member] | null | undefined } : T;

/** The settings of a request, in which null stands for a value that is not set. */
export type PodSettingsBody = {
  [Field in keyof PodSettings]?: SentValue<NonNullable<PodSettings[Field]>> | null | undefined;
};

/** These fields of a response. A field that is not set is absent. */
export const shownPodSettingsShape = {
  security_profile: securityProfileSchema.optional(),
  health_checks: shownPerComponent(healthCheckSchema, HEALTH_CHECKS),
  placement: shownPerComponent(placementSchema, PLACEMENT),
  gpu: shownPerComponent(gpuSchema, GPU),
  database: shownDatabaseSchema.optional(),
  cache: shownCacheSchema.optional(),
};

/** Checks stored settings. */
export const podSettingsSchema: z.ZodType<PodSettings> = z.object(shownPodSettingsShape);

/** The fields, in the order of the contract. */
export const POD_SETTINGS = Object.keys(podSettingsBodyShape) as (keyof PodSettings)[];

/** The fields with one value for each component. */
export const COMPONENT_SETTINGS = [
  'health_checks',
  'placement',
  'gpu',
] as const satisfies readonly (keyof PodSettings)[];
const COMPONENT_FIELDS: ReadonlySet<string> = new Set(COMPONENT_SETTINGS);

/** The value without unset members. undefined: it is not set. */
function setValue(field: string, value: unknown): unknown {
  if (value == null) return undefined;
  if (COMPONENT_FIELDS.has(field)) return withValues(value);
  return isDataServiceSetting(field) ? setMembers(value) : value;
}

/** Only these fields of an object, without unset ones, in the order of the contract. */
export function podSettingsOf(config: PodSettingsBody): PodSettings {
  const given = POD_SETTINGS.map((field) => [field, setValue(field, config[field])] as const);
  return Object.fromEntries(given.filter(([, value]) => value != null)) as PodSettings;
}

/** The other fields of an object. */
export function withoutPodSettings<T extends PodSettings>(config: T): Omit<T, keyof PodSettings> {
  const others = Object.entries(config).filter(([field]) => !(POD_SETTINGS as string[]).includes(field));
  return Object.fromEntries(others) as Omit<T, keyof PodSettings>;
}

/** @param sent not undefined */
function mergedValue(field: keyof PodSettings, stored: PodSettings, sent: PodSettingsBody): unknown {
  if (COMPONENT_FIELDS.has(field))
    return mergeComponents(stored[field] as object | undefined, sent[field] as object | null);
  return isDataServiceSetting(field) ? mergeDataService(stored[field], sent[field]) : sent[field];
}

/** Merges these fields of a PATCH. An absent field, component or member keeps its value, and null clears it. */
export function mergePodSettings(stored: PodSettings, sent: PodSettingsBody): PodSettings {
  const merged: Record<string, unknown> = { ...podSettingsOf(stored) };
  for (const field of POD_SETTINGS) {
    if (sent[field] !== undefined) merged[field] = mergedValue(field, stored, sent);
  }
  return podSettingsOf(merged as PodSettingsBody);
}

function clearedValue(field: keyof PodSettings, sent: PodSettingsBody): unknown {
  if (COMPONENT_FIELDS.has(field)) return allComponents(sent[field] as object | null);
  return isDataServiceSetting(field) ? allMembers(field, sent[field]) : (sent[field] ?? null);
}

/** The settings of a PUT as those of a PATCH: what is absent is cleared. */
export function podSettingsAsPatch(sent: PodSettingsBody): PodSettingsBody {
  const fields = POD_SETTINGS.map((field) => [field, clearedValue(field, sent)]);
  return Object.fromEntries(fields) as PodSettingsBody;
}
