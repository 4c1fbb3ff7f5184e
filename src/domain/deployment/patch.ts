import { mergeDomains } from '../app-hosts/domains.ts';
import type { BodyIssue } from '../core/body-issue.ts';
import { sameJson } from '../core/same-json.ts';
import { mergePodSettings, withoutPodSettings } from '../pod-settings/pod-settings.ts';
import { unmaskSecrets } from '../redaction/secret-list.ts';
import type { ResourceSpec } from '../resource-spec/resource-spec.ts';
import { withoutBuildResult } from '../run-settings/procfile.ts';
import { toRelease } from '../run-settings/release-schema.ts';
import { mergeRunSettings, withoutRunSettings } from '../run-settings/run-settings.ts';
import { mergedCommandIssues } from '../run-settings/run-settings-schema.ts';
import { toSecretReferences } from '../run-settings/secret-reference-schema.ts';
import { sharedNameIssues } from '../run-settings/shared-names.ts';
import { mergeSchedules } from '../schedules/schedules.ts';
import { isBuilt } from '../uploads/upload.ts';
import type { Secret, SourceConfig, SourceRevisionConfig } from './deployment.ts';
import { compactSpec, type PatchBody, type SourceConfigBody, toSourceConfig } from './deployment-bodies.ts';
import {
  type Configs,
  changedPaths,
  configChanges,
  type FieldChange,
  secretChanges,
} from './field-changes.ts';
import type { Source } from './source.ts';

/**
 * Applies a PATCH to a deployment. Pure. Rules across fields are checked separately on `next` (source-rules.ts, spec-rules.ts,
 * policy-rules.ts).
 */

/** The parts of a deployment that a PATCH needs. */
export interface PatchTarget extends Configs {
  readonly source: Source;
  readonly secrets: readonly Secret[];
  /** The listener of the deployment, whether or not the client chose it. */
  readonly listenerId: string;
  readonly namespace: string;
  /** URL that the server assigns. null: no URL. */
  readonly serverUrl: string | null;
}

export interface Patched {
  /** The complete new desired state. */
  readonly next: Configs & { readonly secrets: readonly Secret[] };
  /** The sent values that differ from the stored values, for rules about sent values. All other values are null. */
  readonly asked: Configs;
  /** Paths of changed fields, without values: `source_config.resource_spec.cpu`. Empty: no write is needed. */
  readonly changed: readonly string[];
  /** The changed fields with their values. Secrets are masked. */
  readonly changes: readonly FieldChange[];
  /** Whether the change creates a new revision. */
  readonly newRevision: boolean;
  /** Changes of values that only the server sets, which result in a 422. */
  readonly shapeIssues: readonly BodyIssue[];
  /** Changed immutable fields, cleared required fields, and masks of unknown secrets, which result in a 400. */
  readonly issues: readonly BodyIssue[];
}

/**
 * Merges resource_spec by field. An absent field keeps its value, null clears it, and lists and maps are replaced. For
 * db_storage_gi, null keeps the value, because a volume cannot shrink. If resource_spec itself is null, db_storage_gi
 * is also kept.
 */
function mergeSpec(stored: ResourceSpec | null, sent: ResourceSpec | null): ResourceSpec | null {
  const size = stored?.db_storage_gi;
  const kept = size == null ? {} : { db_storage_gi: size };
  if (sent === null) return size == null ? null : kept;
  const cleared = sent.db_storage_gi === null ? { ...sent, ...kept } : sent;
  const merged = compactSpec({ ...stored, ...cleared });
  return stored === null && Object.keys(merged).length === 0 ? null : merged;
}

const IMMUTABLE = ['integration_id', 'repo_url', 'deployment_type', 'listener_id'] as const;
const MUTABLE = ['build_on_push', 'install_command', 'build_command'] as const;

function immutableIssue(field: readonly string[]): BodyIssue {
  return { loc: ['source_config', ...field], msg: 'cannot be changed', type: 'immutable' };
}

/** source_config with the listener of the deployment, also if the client did not choose it. */
function withListener({ sourceConfig, listenerId }: PatchTarget): SourceConfig {
  return { ...sourceConfig, listener_id: sourceConfig.listener_id ?? listenerId };
}

function immutableIssues(target: PatchTarget, sent: SourceConfigBody): BodyIssue[] {
  const current = withListener(target);
  const issues = IMMUTABLE.filter((field) => sent[field] != null && sent[field] !== current[field]).map(
    (field) => immutableIssue([field]),
  );
  const namespace = sent.listener_config?.cluster_namespace;
  return namespace == null || namespace === target.namespace
    ? issues
    : [...issues, immutableIssue(['listener_config', 'cluster_namespace'])];
}

/** null removes a URL of the client. A client cannot clear the URL of the server. */
function mergeUrl(
  { source, sourceConfig: { custom_url: stored }, serverUrl }: PatchTarget,
  sent: string | null | undefined,
): string | null {
  if (sent === undefined || source === 'git_host') return stored;
  // A client that sends back a response without a URL changes nothing.
  return sent ?? (stored === null ? null : serverUrl);
}

function mergeSourceConfig(target: PatchTarget, sent: SourceConfigBody): SourceConfig {
  const { sourceConfig } = target;
  const { domains: _1, schedules: _2, ...others } = withoutPodSettings(sourceConfig);
  const merged: SourceConfig = {
    ...others,
    ...mergeDomains(sourceConfig, sent),
    ...mergeSchedules(sourceConfig, sent),
    ...mergePodSettings(sourceConfig, sent),
    custom_url: mergeUrl(target, sent.custom_url),
  };
  const given = toSourceConfig(sent);
  for (const field of MUTABLE) {
    if (sent[field] === undefined) continue;
    Object.assign(merged, { [field]: given[field] });
  }
  if (sent.resource_spec !== undefined) {
    merged.resource_spec = mergeSpec(sourceConfig.resource_spec, sent.resource_spec);
  }
  return merged;
}

const REVISION_FIELDS = ['repo_ref', 'workflow_config_path', 'image_uri'] as const;
type RevisionBody = NonNullable<PatchBody['source_revision_config']>;

/** source_revision_config for an image that the client names instead of the one that was built from an upload. */
function withoutUpload(config: SourceRevisionConfig): SourceRevisionConfig {
  if (config.upload === undefined) return config;
  const { upload: _upload, procfile: _procfile, ...others } = config;
  return others;
}

function mergeRevisionConfig(
  target: PatchTarget,
  sent: RevisionBody,
  references: PatchBody['secret_references'],
): SourceRevisionConfig {
  const { sourceRevisionConfig: stored, source } = target;
  const settings = mergeRunSettings(stored, {
    ...sent,
    ...toRelease(sent),
    secretReferences: toSecretReferences(references),
  });
  const merged: SourceRevisionConfig = { ...withoutRunSettings(stored), ...settings };
  for (const field of REVISION_FIELDS) {
    // A built image is set only by the server.
    if (sent[field] === undefined || (field === 'image_uri' && source === 'git_host')) continue;
    merged[field] = sent[field];
  }
  if (source !== 'git_host') return merged.image_uri === stored.image_uri ? merged : withoutUpload(merged);
  const rebuilt =
    merged.repo_ref !== stored.repo_ref || merged.workflow_config_path !== stored.workflow_config_path;
  return rebuilt ? withoutBuildResult(merged) : merged;
}

/** The sent values that differ from the stored values. */
function asked<T extends object>(sent: Partial<T>, stored: T): T {
  return Object.fromEntries(
    Object.entries(stored).map(([field, value]) => {
      const given = sent[field as keyof T];
      return [field, given == null || sameJson(given, value) ? null : given];
    }),
  ) as T;
}

/** The fields that rules of the source are about. The run settings are allowed for every source. */
function askedRevision(sent: RevisionBody, stored: SourceRevisionConfig): SourceRevisionConfig {
  return asked<SourceRevisionConfig>(sent as Partial<SourceRevisionConfig>, withoutRunSettings(stored));
}

function commitIssues(target: PatchTarget, sent: RevisionBody): BodyIssue[] {
  const { repo_commit_sha: sha } = sent;
  if (sha == null || sha === target.sourceRevisionConfig.repo_commit_sha) return [];
  return [
    {
      loc: ['source_revision_config', 'repo_commit_sha'],
      msg: 'must not be set: only the server sets it',
      type: 'read_only',
    },
  ];
}

function clearedImage(target: PatchTarget, next: SourceRevisionConfig): BodyIssue[] {
  if (target.source !== 'internal_image' || next.image_uri !== null) return [];
  if (target.sourceRevisionConfig.image_uri === null) return [];
  return [
    {
      loc: ['source_revision_config', 'image_uri'],
      msg: 'cannot be cleared when a revision exists; to run no pods, set max_scale to 0',
      type: 'missing_for_source',
    },
  ];
}

/** Whether a revision can be created. A deployment with the source internal_image may not have its first image yet. */
function canHaveRevision(source: Source, config: SourceRevisionConfig): boolean {
  return source !== 'internal_image' || config.image_uri !== null || isBuilt(source, config);
}

/** Applies a valid PATCH body. A repeated PATCH, or a response that is sent back, changes nothing. */
export function applyPatch(target: PatchTarget, patch: PatchBody): Patched {
  const config = patch.source_config ?? {};
  const revisionConfig = patch.source_revision_config ?? {};
  const unmasked =
    patch.secrets == null
      ? { secrets: target.secrets, issues: [] }
      : unmaskSecrets(target.secrets, patch.secrets);
  const next = {
    sourceConfig: mergeSourceConfig(target, config),
    sourceRevisionConfig: mergeRevisionConfig(target, revisionConfig, patch.secret_references),
    secrets: unmasked.secrets,
  };
  const configs = configChanges(target, next);
  const secrets = secretChanges(target.secrets, next.secrets);
  const changed = [...changedPaths(configs), ...(secrets.length === 0 ? [] : ['secrets'])];
  const revises = changed.some((path) => !path.startsWith('source_config.'));
  return {
    next,
    asked: {
      sourceConfig: asked(toSourceConfig(config), withListener(target)),
      sourceRevisionConfig: askedRevision(revisionConfig, target.sourceRevisionConfig),
    },
    changed,
    changes: [...configs, ...secrets],
    newRevision: revises && canHaveRevision(target.source, next.sourceRevisionConfig),
    shapeIssues: commitIssues(target, revisionConfig),
    issues: [
      ...immutableIssues(target, config),
      ...clearedImage(target, next.sourceRevisionConfig),
      ...unmasked.issues,
      ...mergedCommandIssues(next.sourceRevisionConfig, revisionConfig.commands),
      ...sharedNameIssues(next, {
        sentEnv: revisionConfig.env != null,
        sentReferences: patch.secret_references != null,
        sentSecrets: patch.secrets != null,
      }),
    ],
  };
}
