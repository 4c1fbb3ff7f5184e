import { z } from 'zod';
import { COMPONENTS, type Component } from '../resource-spec/components.ts';
import { type Command, type Commands, type RunSettings, runSettingsOf } from './run-settings.ts';

/** The Procfile of a repository, whose lines are the default commands of components. The server sets it after a build. */

/** The process types of components. `release` is the release command. */
export const PROCESS_COMPONENTS = { web: 'api', worker: 'queue' } as const satisfies Record<
  string,
  Component
>;
const COMPONENT_TYPES = Object.keys(PROCESS_COMPONENTS) as (keyof typeof PROCESS_COMPONENTS)[];
/** The process types that Berth runs. */
export const PROCESS_TYPES = [...COMPONENT_TYPES, 'release'] as const;

/**
 * Maximum size of a line in bytes. All lines are in the termination message of a build, which has 4096 bytes. A longer
 * command belongs in a script.
 */
export const MAX_PROCESS_BYTES = 1024;

const lineSchema = z.string().min(1).max(MAX_PROCESS_BYTES);

/** The commands of a Procfile by process type, as they are written. */
export const procfileSchema = z
  .strictObject({
    web: lineSchema.optional().describe('Command of the api component.'),
    worker: lineSchema.optional().describe('Command of the queue component.'),
    release: lineSchema.optional().describe('Release command.'),
  })
  .describe('Commands of the Procfile of the repository. Absent: it has no Procfile.');
export type Procfile = z.infer<typeof procfileSchema>;

/**
 * Escapes what Kubernetes would replace in a command: `$(NAME)` and `$$`. So the shell gets the line as it is written, with
 * its own `$NAME`, `$(command)` and `$$`.
 */
const literal = (line: string): string =>
  line.replace(/\$\$+|\$(?=\()/g, (dollars) => '$'.repeat(2 * dollars.length));

const SHELL = ['/bin/sh', '-c'];
const shell = (line: string): Command => ({ command: SHELL, args: [literal(line)] });

/** The commands of a Procfile, by component. */
function procfileCommands(procfile: Procfile): Commands {
  const given = COMPONENT_TYPES.flatMap((type) => {
    const line = procfile[type];
    return line === undefined ? [] : [[PROCESS_COMPONENTS[type], shell(line)] as const];
  });
  return Object.fromEntries(given);
}

/** The commands with which components run: those of the request, and those of the Procfile for other components. */
export function effectiveCommands({ commands, procfile = {} }: RunSettings): Commands {
  return { ...procfileCommands(procfile), ...commands };
}

/** The release command, which is that of the Procfile if the request has none. undefined: the revision has no release command. */
const effectiveRelease = ({ releaseCommand, procfile }: RunSettings): string[] | undefined =>
  releaseCommand ?? (procfile?.release === undefined ? undefined : [...SHELL, literal(procfile.release)]);

/** Where a command comes from. */
export const COMMAND_SOURCES = ['commands', 'procfile'] as const;
export type CommandSource = (typeof COMMAND_SOURCES)[number];

type SourcedCommand = Command & { readonly source: CommandSource };

/**
 * The effective commands with their source, in the order of the contract. undefined: every component runs its image, and
 * there is no release command.
 */
export function sourcedCommands(
  settings: RunSettings,
): Partial<Record<Component | 'release', SourcedCommand>> | undefined {
  const effective = effectiveCommands(settings);
  const given: (readonly [string, SourcedCommand])[] = COMPONENTS.flatMap((component) => {
    const command = effective[component];
    if (command === undefined) return [];
    const source: CommandSource = settings.commands?.[component] === undefined ? 'procfile' : 'commands';
    return [[component, { ...command, source }] as const];
  });
  const release = effectiveRelease(settings);
  if (release !== undefined) {
    const source = settings.releaseCommand === undefined ? 'procfile' : 'commands';
    given.push(['release', { command: release, source }]);
  }
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/** The settings with which the pods run, in which the commands of the Procfile are ordinary commands. */
export function resolvedSettings(settings: RunSettings): Omit<RunSettings, 'procfile' | 'releaseSkipped'> {
  const releaseCommand = effectiveRelease(settings);
  const {
    procfile: _procfile,
    releaseSkipped,
    ...resolved
  } = runSettingsOf({
    ...settings,
    commands: effectiveCommands(settings),
    ...(releaseCommand === undefined ? {} : { releaseCommand }),
  });
  if (releaseSkipped !== true) return resolved;
  const { releaseCommand: _command, releaseTimeoutSeconds: _timeout, ...others } = resolved;
  return others;
}

/** Whether a new revision with these settings runs a release command. */
export const runsRelease = (settings: RunSettings): boolean =>
  resolvedSettings(settings).releaseCommand !== undefined;

/** source_revision_config without the values that the server sets after a build, so that the revision is built again. */
export function withoutBuildResult<
  T extends RunSettings & { image_uri: string | null; repo_commit_sha: string | null },
>({ procfile: _, ...config }: T): Omit<T, 'procfile'> {
  return { ...config, image_uri: null, repo_commit_sha: null };
}
