import type { BodyIssue } from './body-issue.ts';
import type { SourceConfig, SourceRevisionConfig } from './deployment.ts';
import { isUnderRegistry } from './image-reference.ts';
import type { HostingMode, Source } from './source.ts';

/** What each source requires and refuses, as an ordered list of named checks. A broken one is a 400. */

export interface SourceRuleInput {
  readonly source: Source;
  /** What the body asks for; null: nothing, or what is stored already. */
  readonly asked: {
    readonly sourceConfig: SourceConfig;
    readonly sourceRevisionConfig: SourceRevisionConfig;
  };
  /** What would be stored. */
  readonly next: { readonly sourceConfig: SourceConfig; readonly sourceRevisionConfig: SourceRevisionConfig };
  /** The deployment is to be made, not changed. */
  readonly creating: boolean;
  readonly hosting: HostingMode;
  /** The platform's own registry; null: none, and internal images may be anywhere. */
  readonly registry: string | null;
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

/** The contract's table of sources. */
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
      msg: `${source} is available only where hosting is ${allowed.join(' or ')}; here it is ${hosting}`,
    },
  ];
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
      // build_on_push: false is fine everywhere.
      return value !== null && value !== false;
    })
    .map((field) => ({ loc: field, msg: `must not be set for ${source}` }));
}

function tagBuiltOnPush({ next }: SourceRuleInput): Violation[] {
  const tracksTag = next.sourceRevisionConfig.repo_ref?.startsWith('refs/tags/') ?? false;
  if (next.sourceConfig.build_on_push !== true || !tracksTag) return [];
  return [{ loc: ['source_config', 'build_on_push'], msg: 'needs a branch: nobody pushes to a tag' }];
}

function foreignRegistry({ source, asked, registry }: SourceRuleInput): Violation[] {
  const image = asked.sourceRevisionConfig.image_uri;
  if (source !== 'internal_image' || registry === null || image === null) return [];
  if (isUnderRegistry(image, registry)) return [];
  return [
    {
      loc: ['source_revision_config', 'image_uri'],
      msg: `must be under the platform's registry, ${registry}`,
    },
  ];
}

interface SourceRule {
  readonly name: string;
  readonly check: (input: SourceRuleInput) => Violation[];
}

/** The rules, in the order in which their violations are reported. */
export const SOURCE_RULES: readonly SourceRule[] = [
  { name: 'source_unavailable', check: wrongHosting },
  { name: 'missing_for_source', check: missing },
  { name: 'refused_for_source', check: refused },
  { name: 'tag_built_on_push', check: tagBuiltOnPush },
  { name: 'foreign_registry', check: foreignRegistry },
];

/** Every rule of its source that a body breaks. */
export function sourceIssues(input: SourceRuleInput): BodyIssue[] {
  return SOURCE_RULES.flatMap(({ name, check }) =>
    check(input).map((violation) => ({ ...violation, type: name })),
  );
}
