import {
  type DomainsBody,
  domainsBodySchema,
  domainsOf,
  mergeDomains,
} from '../../../src/domain/app-hosts/domains.ts';
import type { Secret } from '../../../src/domain/deployment/deployment.ts';
import type { DeploymentType } from '../../../src/domain/deployment/source.ts';
import {
  mergePodSettings,
  type PodSettings,
  type PodSettingsBody,
  podSettingsAsPatch,
  podSettingsOf,
} from '../../../src/domain/pod-settings/pod-settings.ts';
import type { ResourceSpec, ResourceSpecField } from '../../../src/domain/resource-spec/resource-spec.ts';
import {
  mergeRunSettings,
  type RunSettings,
  type SentRunSettings,
} from '../../../src/domain/run-settings/run-settings.ts';
import { wholeSettings } from './settings-moves.ts';

/** The part of a deployment that clients can change. */
export interface WalkRecord {
  readonly spec: ResourceSpec;
  readonly image: string;
  readonly settings: RunSettings;
  readonly secrets: readonly Secret[];
  readonly customUrl: string | null;
  /** Absent: no additional hosts. */
  readonly domains?: readonly string[];
  /** Absent: no settings. */
  readonly podSettings?: PodSettings;
}

/** The properties of a lane that never change. */
export interface LaneIdentity {
  readonly lane: number;
  readonly type: DeploymentType | null;
  /** Fields that this lane must change. Default: no field. */
  readonly requiredFields?: readonly ResourceSpecField[];
}

/** One call of the API. */
export type WalkCall =
  | { readonly kind: 'patch'; readonly body: PatchOfWalk }
  /** Repeats an earlier revision, counted back from the latest (0). */
  | { readonly kind: 'redeploy' | 'rollback'; readonly back: number }
  | { readonly kind: 'new-revision' }
  | { readonly kind: 'tags'; readonly on: boolean };

/** The body of a PATCH, with the fields that a walk changes. */
export interface PatchOfWalk {
  readonly source_config?: {
    readonly resource_spec?: Readonly<Record<string, unknown>> | null;
    readonly custom_url?: string | null;
    readonly domains?: readonly string[] | null;
  } & PodSettingsBody;
  readonly source_revision_config?: SentRunSettings & {
    readonly image_uri?: string | null;
    readonly repo_ref?: string;
    readonly workflow_config_path?: string;
    readonly repo_commit_sha?: string;
  };
  readonly secrets?: readonly Secret[];
}

export interface WalkStep {
  /** Kind of the move. Figures count moves by kind. */
  readonly move: string;
  /** Readable description: `add sidecars[0].env`, `revert to an earlier record`. */
  readonly what: string;
  readonly call: WalkCall;
  /** If false, the next step follows without waiting for a settled state. */
  readonly wait: boolean;
}

/** Images that fail on simulated nodes. */
const FAILING = /:fail-/;

/** The image that prevents pods of this record from starting. Null if all images work. */
export function failingImage({ spec, image }: Pick<WalkRecord, 'spec' | 'image'>): string | null {
  const containers = [...(spec.init_containers ?? []), ...(spec.sidecars ?? [])];
  return (
    [image, ...containers.map((container) => container.image)].find((name) => FAILING.test(name)) ?? null
  );
}

/** Whether the deployment is switched off. */
export function isSwitchedOff({ spec }: Pick<WalkRecord, 'spec'>): boolean {
  return spec.max_scale === 0;
}

/** The pod settings of a PATCH, in which null clears. */
function podSettingsBodyOf({
  resource_spec: _spec,
  custom_url: _url,
  domains: _domains,
  ...settings
}: NonNullable<PatchOfWalk['source_config']>): PodSettingsBody {
  return settings;
}

/** The part of a record with these pod settings. Without settings, the part is empty. */
export function withPodSettings(podSettings: PodSettings): Pick<WalkRecord, 'podSettings'> {
  return Object.keys(podSettings).length === 0 ? {} : { podSettings };
}

/** The record after a PATCH according to the contract: absent fields stay, null clears, the volume size stays. */
export function afterPatch(record: WalkRecord, body: PatchOfWalk): WalkRecord {
  const { source_config: config, source_revision_config: revision, secrets } = body;
  const sent = config?.resource_spec;
  const size = record.spec.db_storage_gi;
  const kept = size == null ? {} : { db_storage_gi: size };
  const merged = sent === undefined ? record.spec : sent === null ? kept : { ...record.spec, ...sent };
  const whole = merged.db_storage_gi == null ? { ...merged, ...kept } : merged;
  const spec = Object.fromEntries(Object.entries(whole).filter(([, value]) => value != null)) as ResourceSpec;
  return {
    spec,
    image: revision?.image_uri ?? record.image,
    settings: mergeRunSettings(record.settings, revision ?? {}),
    secrets: secrets ?? record.secrets,
    customUrl: config?.custom_url === undefined ? record.customUrl : config.custom_url,
    ...mergeDomains(domainsOf(record), domainsBody(config)),
    ...withPodSettings(mergePodSettings(record.podSettings ?? {}, podSettingsBodyOf(config ?? {}))),
  };
}

/** The additional hosts of a PATCH in their normal form, as the API stores them. */
function domainsBody(config: PatchOfWalk['source_config']): DomainsBody {
  return config?.domains === undefined ? {} : { domains: domainsBodySchema.parse(config.domains) };
}

/** A PATCH that changes one record into the other. The volume size stays. */
export function patchTo(from: WalkRecord, to: WalkRecord): PatchOfWalk {
  const fields = new Set([...Object.keys(from.spec), ...Object.keys(to.spec)]);
  fields.delete('db_storage_gi');
  const spec = Object.fromEntries(
    [...fields].map((field) => [field, to.spec[field as keyof ResourceSpec] ?? null]),
  );
  return {
    source_config: {
      resource_spec: spec,
      custom_url: to.customUrl,
      domains: to.domains ?? null,
      ...podSettingsAsPatch(podSettingsOf(to.podSettings ?? {})),
    },
    source_revision_config: { image_uri: to.image, ...wholeSettings(to.settings) },
    secrets: to.secrets,
  };
}
