import { sameJson } from '../core/same-json.ts';
import { COMPONENTS, type Component } from '../resource-spec/components.ts';
import type { Procfile } from './procfile.ts';

/**
 * The run settings of a revision: how its image runs. They are part of source_revision_config. An unset field is absent,
 * also in the database and in the custom resource, so that records of the previous version have the same form.
 */

/** Replaces the entry point and the arguments of the image. At least one of both is set. */
export interface Command {
  command?: string[] | undefined;
  args?: string[] | undefined;
}

/** The commands of the components. Other components run the command of the image. */
export type Commands = Partial<Record<Component, Command>>;

/** An environment variable of the app container that is not secret. */
export interface Variable {
  name: string;
  value: string;
}

/** An environment variable whose value is a key of a Secret in the namespace of the deployment. */
export interface SecretReference {
  name: string;
  secretName: string;
  secretKey: string;
}

export interface RunSettings {
  /** The port on which the api component serves HTTP. Absent: DEFAULT_PORT. */
  port?: number;
  commands?: Commands;
  /** The order is kept, because a value can refer to earlier variables. */
  env?: Variable[];
  /** In requests and responses, this is the field `secret_references` beside `secrets`. */
  secretReferences?: SecretReference[];
  /** The commands of the Procfile, which the server sets after a build. Responses contain only the effective commands. */
  procfile?: Procfile;
  /** The command that runs before the rollout. In requests and responses, this is the field `release_command`. */
  releaseCommand?: string[];
  /** Time after which the release command is ended, in seconds. Absent: the default of tasks. */
  releaseTimeoutSeconds?: number;
  /** Set by the server: the revision is a rollback that does not run its release command. Responses do not contain it. */
  releaseSkipped?: true;
}

/** Port of the api component if no other port is set. */
export const DEFAULT_PORT = 8000;

type Sent<T> = T | null | undefined;

/** The run settings of a body. null: clear the field. Absent: keep the field. */
export interface SentRunSettings {
  port?: Sent<number>;
  commands?: Sent<Partial<Record<Component, Sent<{ command?: Sent<string[]>; args?: Sent<string[]> }>>>>;
  env?: Sent<Variable[]>;
  secretReferences?: Sent<SecretReference[]>;
  releaseCommand?: Sent<string[]>;
  releaseTimeoutSeconds?: Sent<number>;
}

const filled = (list: Sent<string[]>): list is string[] => list != null && list.length > 0;

/** null: neither command nor args is set. An empty list equals an absent list, as in Kubernetes. */
function toCommand({ command, args }: { command?: Sent<string[]>; args?: Sent<string[]> }): Command | null {
  if (!filled(command) && !filled(args)) return null;
  return { ...(filled(command) ? { command } : {}), ...(filled(args) ? { args } : {}) };
}

/** Merges by component. The command of a component is replaced as a whole. */
function mergeCommands(stored: Commands, sent: NonNullable<SentRunSettings['commands']>): Commands {
  const merged = COMPONENTS.map((component) => {
    const given = sent[component];
    if (given === undefined) return [component, stored[component] ?? null] as const;
    return [component, given === null ? null : toCommand(given)] as const;
  });
  return Object.fromEntries(merged.filter(([, command]) => command !== null));
}

/** Clears the command of every component. */
const NONE: Readonly<Record<Component, null>> = {
  api: null,
  queue: null,
  orchestrator: null,
  executor: null,
};

/**
 * Merges sent run settings into stored ones. Absent keeps a field, and null clears it. The Procfile stays. A new revision
 * runs its release command.
 */
export function mergeRunSettings(stored: RunSettings, sent: SentRunSettings): RunSettings {
  const merged = <T>(before: T | undefined, given: Sent<T>) =>
    given === undefined ? before : (given ?? undefined);
  const port = merged(stored.port, sent.port);
  const env = merged(stored.env, sent.env);
  const secretReferences = merged(stored.secretReferences, sent.secretReferences);
  const releaseCommand = merged(stored.releaseCommand, sent.releaseCommand);
  const releaseTimeoutSeconds = merged(stored.releaseTimeoutSeconds, sent.releaseTimeoutSeconds);
  const commands =
    sent.commands === undefined
      ? stored.commands
      : mergeCommands(stored.commands ?? {}, sent.commands ?? NONE);
  return runSettingsOf({
    ...(port === undefined ? {} : { port }),
    ...(commands === undefined ? {} : { commands }),
    ...(env === undefined ? {} : { env }),
    ...(secretReferences === undefined ? {} : { secretReferences }),
    ...(stored.procfile === undefined ? {} : { procfile: stored.procfile }),
    ...(releaseCommand === undefined ? {} : { releaseCommand }),
    ...(releaseTimeoutSeconds === undefined ? {} : { releaseTimeoutSeconds }),
  });
}

/** The run settings of a record, without its other fields and without empty ones. */
export function runSettingsOf({
  port,
  commands,
  env,
  secretReferences,
  procfile,
  releaseCommand,
  releaseTimeoutSeconds,
  releaseSkipped,
}: RunSettings): RunSettings {
  const hasCommands = commands !== undefined && Object.keys(commands).length > 0;
  return {
    ...(port === undefined ? {} : { port }),
    ...(hasCommands ? { commands } : {}),
    ...(env === undefined || env.length === 0 ? {} : { env }),
    ...(secretReferences === undefined || secretReferences.length === 0 ? {} : { secretReferences }),
    ...(procfile === undefined ? {} : { procfile }),
    ...(filled(releaseCommand) ? { releaseCommand } : {}),
    ...(releaseTimeoutSeconds === undefined ? {} : { releaseTimeoutSeconds }),
    ...(releaseSkipped === undefined ? {} : { releaseSkipped }),
  };
}

/** A record without its run settings. */
export function withoutRunSettings<T extends RunSettings>(record: T): Omit<T, keyof RunSettings> {
  const {
    port: _port,
    commands: _commands,
    env: _env,
    secretReferences: _secretReferences,
    procfile: _procfile,
    releaseCommand: _releaseCommand,
    releaseTimeoutSeconds: _releaseTimeoutSeconds,
    releaseSkipped: _releaseSkipped,
    ...others
  } = record;
  return others;
}

/** Whether two revisions run their images in the same way. The Procfile is part of it. */
export const sameRunSettings = (one: RunSettings, other: RunSettings): boolean =>
  sameJson(runSettingsOf(one), runSettingsOf(other));

/** Names of all variables that the tenant sets: secrets, references to Secrets, then env. */
export function variableNames(
  secretNames: readonly string[],
  { env = [], secretReferences = [] }: RunSettings,
): string[] {
  return [...secretNames, ...secretReferences.map(({ name }) => name), ...env.map(({ name }) => name)];
}
