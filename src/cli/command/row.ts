import type { Command } from 'commander';
import type { Host } from './host.ts';

/** The commands of the first level as data. */

/** Adds arguments, options, subcommands and the action to a command. */
export type Build = (command: Command, host: Host) => void | Promise<void>;

export interface CommandRow {
  readonly name: string;
  readonly summary: string;
  /** Heading in the help. */
  readonly group: string;
  /** Not in the help, and not completed. */
  readonly isHidden?: boolean;
  /** Loads the module of the command, when the command runs. */
  readonly load: () => Promise<Build>;
}

export interface CommandTree {
  /** In the order of the help. */
  readonly rows: readonly CommandRow[];
  /** The paragraphs of `berth --help` after the summary. */
  readonly details: string;
}
