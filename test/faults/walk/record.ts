import type { Secret } from '../../../src/domain/deployment/deployment.ts';
import type { DeploymentType } from '../../../src/domain/deployment/source.ts';
import type { ResourceSpec, ResourceSpecField } from '../../../src/domain/resource-spec/resource-spec.ts';

/** What a deployment of the walk is to be: all of its record that a client may change. */
export interface WalkRecord {
  readonly spec: ResourceSpec;
  readonly image: string;
  readonly secrets: readonly Secret[];
  readonly customUrl: string | null;
}

/** What of it never changes. */
export interface LaneIdentity {
  readonly lane: number;
  readonly type: DeploymentType | null;
  /** Fields that this lane has to change, whatever chance says; absent: none. */
  readonly owes?: readonly ResourceSpecField[];
}

/** One call of the API. */
export type WalkCall =
  | { readonly kind: 'patch'; readonly body: PatchOfWalk }
  /** The content of an earlier revision, counted back from the latest (0). */
  | { readonly kind: 'redeploy' | 'rollback'; readonly back: number }
  | { readonly kind: 'new-revision' }
  | { readonly kind: 'tags'; readonly on: boolean };

export interface PatchOfWalk {
  readonly source_config?: {
    readonly resource_spec?: Readonly<Record<string, unknown>> | null;
    readonly custom_url?: string | null;
  };
  readonly source_revision_config?: {
    readonly image_uri?: string | null;
    readonly repo_ref?: string;
    readonly workflow_config_path?: string;
    readonly repo_commit_sha?: string;
  };
  readonly secrets?: readonly Secret[];
}

export interface WalkStep {
  /** Which kind of move it is; figures count them. */
  readonly move: string;
  /** What it does, for people: `add sidecars[0].env`, `revert to step 12`. */
  readonly what: string;
  readonly call: WalkCall;
  /** false: the next step follows at once. */
  readonly wait: boolean;
}

/** Images that simulated nodes let fail. */
const FAILING = /:fail-/;

/** Why pods of this record cannot come up; null: nothing speaks against them. */
export function failingImage({ spec, image }: Pick<WalkRecord, 'spec' | 'image'>): string | null {
  const containers = [...(spec.init_containers ?? []), ...(spec.sidecars ?? [])];
  return (
    [image, ...containers.map((container) => container.image)].find((name) => FAILING.test(name)) ?? null
  );
}

/** Nothing is to run. */
export function isSwitchedOff({ spec }: Pick<WalkRecord, 'spec'>): boolean {
  return spec.max_scale === 0;
}

/** The record as it has to be after a PATCH, by the words of the contract alone: absent keeps, null clears, storage stays. */
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
    secrets: secrets ?? record.secrets,
    customUrl: config?.custom_url === undefined ? record.customUrl : config.custom_url,
  };
}

/** The PATCH that makes one record of another; what a volume has grown to stays. */
export function patchTo(from: WalkRecord, to: WalkRecord): PatchOfWalk {
  const fields = new Set([...Object.keys(from.spec), ...Object.keys(to.spec)]);
  fields.delete('db_storage_gi');
  const spec = Object.fromEntries(
    [...fields].map((field) => [field, to.spec[field as keyof ResourceSpec] ?? null]),
  );
  return {
    source_config: { resource_spec: spec, custom_url: to.customUrl },
    source_revision_config: { image_uri: to.image },
    secrets: to.secrets,
  };
}
