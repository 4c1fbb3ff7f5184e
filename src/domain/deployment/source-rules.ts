import { commitShaSchema } from '../builds/build.ts';
import type { BodyIssue } from '../core/body-issue.ts';
import { eachContainer } from '../kubernetes/pod-containers.ts';
import { imageRepository, isOfRepository, isUnderRegistry } from '../net/image-reference.ts';
import type { SourceConfig, SourceRevisionConfig } from './deployment.ts';
import type { HostingMode, Source } from './source.ts';

/** Required and forbidden fields of each source, as an ordered list of named checks. A violation is a 400. */

export interface SourceRuleInput {
  readonly source: Source;
  /** The requested values. null: the value was not sent, or equals the stored value. */
  readonly asked: {
    readonly sourceConfig: SourceConfig;
    readonly sourceRevisionConfig: SourceRevisionConfig;
  };
  /** The values to store. */
  readonly next: { readonly sourceConfig: SourceConfig; readonly sourceRevisionConfig: SourceRevisionConfig };
  /** True for a creation, false for a change. */
  readonly creating: boolean;
  readonly hosting: HostingMode;
  /** The registry of the platform. null: the platform has no registry, and internal images may be in any registry. */
  readonly registry: string | null;
  /** false: this platform cannot build images. Absent: the platform can build images. */
  readonly builds?: boolean;
  /**
   * The owner of the only repository in the registry from which the cluster can pull, because the hub authorizes access
   * (docs/registry.md). Absent or null: the hub does not authorize access to the registry.
   */
  readonly owner?: { readonly tenantId: string; readonly appName: string } | null;
}

type ConfigField = keyof SourceConfig;
type RevisionField = Exclude<keyof SourceRevisionConfig, 'repo_commit_sha'>;

interface SourceTraits {
  readonly hosting: readonly HostingMode[];
  readonly required: readonly Field[];
  readonly refused: readonly Field[];
}

type Field = readonly ['source_config', ConfigField] | readonly ['source_revision_config', RevisionField];

const ONLY_GIT: readonly Field[] = [
  ['source_config', 'integration_id'],
  ['source_config', 'repo_url'],
  ['source_config', 'build_on_push'],
  ['source_config', 'install_command'],
  ['source_config', 'build_command'],
  ['source_revision_config', 'repo_ref'],
  ['source_revision_config', 'workflow_config_path'],
];

/** The rules of each source. */
export const SOURCE_TRAITS: Readonly<Record<Source, SourceTraits>> = {
  git_host: {
    hosting: ['cloud'],
    required: [
      ['source_config', 'repo_url'],
      ['source_revision_config', 'workflow_config_path'],
    ],
    refused: [
      ['source_revision_config', 'image_uri'],
      ['source_config', 'listener_id'],
      ['source_config', 'custom_url'],
    ],
  },
  external_image: {
    hosting: ['self_hosted'],
    required: [['source_revision_config', 'image_uri']],
    refused: ONLY_GIT,
  },
  internal_image: { hosting: ['cloud', 'self_hosted'], required: [], refused: ONLY_GIT },
};

type Configs = SourceRuleInput['asked'];

function fieldOf(configs: Configs, [part, field]: Field): unknown {
  return part === 'source_config' ? configs.sourceConfig[field] : configs.sourceRevisionConfig[field];
}

type Violation = Omit<BodyIssue, 'type'>;

function wrongHosting({ source, hosting, creating }: SourceRuleInput): Violation[] {
  const allowed = SOURCE_TRAITS[source].hosting;
  if (!creating || allowed.includes(hosting)) return [];
  return [
    {
      loc: ['source'],
      msg: `${source} is available only with the hosting mode ${allowed.join(' or ')}; the hosting mode is ${hosting}`,
    },
  ];
}

/** Rejects git_host if the platform cannot build images, because the deployment would wait forever. */
function notBuilt({ source, hosting, creating, builds = true }: SourceRuleInput): Violation[] {
  if (!creating || builds || source !== 'git_host' || hosting !== 'cloud') return [];
  const msg =
    'git_host is not available: this platform builds no images, because it has no registry for them (BERTH_REGISTRY), or because BERTH_BUILDS is false';
  return [{ loc: ['source'], msg }];
}

function missing({ source, next }: SourceRuleInput): Violation[] {
  return SOURCE_TRAITS[source].required
    .filter((field) => fieldOf(next, field) === null)
    .map((field) => ({ loc: field, msg: `is required for ${source}` }));
}

function refused({ source, asked }: SourceRuleInput): Violation[] {
  return SOURCE_TRAITS[source].refused
    .filter((field) => {
      const value = fieldOf(asked, field);
      // Whether a value is set. build_on_push: false is valid for every source.
      return value !== null && value !== false;
    })
    .map((field) => ({ loc: field, msg: `must not be set for ${source}` }));
}

/** Whether a ref cannot be a branch (`main` or `refs/heads/main`), so that pushes never trigger a build. */
function isNoBranch(ref: string): boolean {
  if (commitShaSchema.safeParse(ref).success || /^(?:heads|tags|remotes)\//.test(ref)) return true;
  return ref.startsWith('refs/') && !ref.startsWith('refs/heads/');
}

function tagBuiltOnPush({ next }: Pick<SourceRuleInput, 'next'>): Violation[] {
  const ref = next.sourceRevisionConfig.repo_ref;
  if (next.sourceConfig.build_on_push !== true || ref === null || !isNoBranch(ref)) return [];
  const msg =
    'needs a branch, but source_revision_config.repo_ref does not name one: use NAME or refs/heads/NAME, not a tag or a commit';
  return [{ loc: ['source_config', 'build_on_push'], msg }];
}

function foreignRegistry({ source, asked, registry }: SourceRuleInput): Violation[] {
  const image = asked.sourceRevisionConfig.image_uri;
  if (source !== 'internal_image' || registry === null || image === null) return [];
  if (isUnderRegistry(image, registry)) return [];
  return [{ loc: IMAGE_URI, msg: `must be under the platform's registry, ${registry}` }];
}

const IMAGE_URI = ['source_revision_config', 'image_uri'] as const;

/** Every image in a body, with its path. All containers of a sent list are checked. */
function namedImages({ source, asked }: SourceRuleInput): { image: string; loc: Violation['loc'] }[] {
  const { image_uri: uri } = asked.sourceRevisionConfig;
  const spec = asked.sourceConfig.resource_spec;
  const containers = eachContainer(spec ?? {}).flatMap(({ container: { image }, loc }) =>
    image == null ? [] : [{ image, loc: ['source_config', 'resource_spec', ...loc, 'image'] }],
  );
  return [...(uri === null || source === 'git_host' ? [] : [{ image: uri, loc: IMAGE_URI }]), ...containers];
}

/** Message about an image in another repository of the registry. @param own repository of the deployment; null: none */
function foreignMessage(own: string | null, { creating, registry }: SourceRuleInput): string {
  if (own === null)
    return `must not be under the platform's registry, ${registry}: a deployment of this source has no repository there`;
  return creating
    ? "must not be under the platform's registry yet: the deployment gets its repository when it is created. Create " +
        'the deployment without an image, push the image, then PATCH this field'
    : `must be in the deployment's own repository, ${own}`;
}

/**
 * If the hub authorizes pulls, only images of the deployment's own repository are allowed. An image of another
 * repository could run only from the cache of a node, without authorization. A deployment has no repository before it
 * is created.
 */
function foreignRepository(input: SourceRuleInput): Violation[] {
  const { source, registry, owner = null, creating } = input;
  if (registry === null || owner === null) return [];
  const own = source === 'external_image' ? null : imageRepository(registry, owner);
  const isOwn = (image: string) => !creating && own !== null && isOfRepository(image, own);
  return namedImages(input)
    .filter(({ image }) => isUnderRegistry(image, registry) && !isOwn(image))
    .map(({ loc }) => ({ loc, msg: foreignMessage(own, input) }));
}

interface SourceRule<Input = SourceRuleInput> {
  readonly name: string;
  readonly check: (input: Input) => Violation[];
}

const TAG_BUILT_ON_PUSH: SourceRule<Pick<SourceRuleInput, 'next'>> = {
  name: 'tag_built_on_push',
  check: tagBuiltOnPush,
};

/** The rules, in the order in which their violations are reported. */
export const SOURCE_RULES: readonly SourceRule[] = [
  { name: 'source_unavailable', check: wrongHosting },
  { name: 'builds_unavailable', check: notBuilt },
  { name: 'missing_for_source', check: missing },
  { name: 'refused_for_source', check: refused },
  TAG_BUILT_ON_PUSH,
  { name: 'foreign_registry', check: foreignRegistry },
  { name: 'foreign_repository', check: foreignRepository },
];

const broken = <Input>({ name, check }: SourceRule<Input>, input: Input): BodyIssue[] =>
  check(input).map((violation) => ({ ...violation, type: name }));

/** Checks a body against all rules of its source. */
export const sourceIssues = (input: SourceRuleInput): BodyIssue[] =>
  SOURCE_RULES.flatMap((rule) => broken(rule, input));

/**
 * The rule that a repeated revision can violate with the current source_config, because its repo_ref becomes the
 * desired ref again.
 */
export const repeatIssues = (next: SourceRuleInput['next']): BodyIssue[] =>
  broken(TAG_BUILT_ON_PUSH, { next });
