import type { Command } from 'commander';
import type { CommandTree } from './row.ts';

/** What the process gives to its commands. */

/**
 * Settings of API users from the environment. The key is never a command-line argument, because every user of the machine
 * can read command lines.
 */
export interface ClientSettings {
  readonly url: string | undefined;
  readonly apiKey: string | undefined;
  readonly tenantId: string | undefined;
  /** Token of the issuer of a pipeline, which is exchanged for an access token. */
  readonly idToken?: string | undefined;
  /** File with such a token, which is read again for each exchange. */
  readonly idTokenFile?: string | undefined;
  /** Folder of the user's configuration, such as `~/.config`. */
  readonly configHome: string;
}

export interface Host {
  readonly tree: CommandTree;
  readonly version: string;
  /** The command line asks for help, which may need modules that are slow to load. */
  readonly showsHelp: boolean;
  /** The program with all commands, for completion. */
  readonly allCommands: () => Promise<Command>;
  readonly clientSettings: () => Promise<ClientSettings>;
  /** The value of an environment variable that the user names. */
  readonly variable: (name: string) => Promise<string | undefined>;
  /** Exit code of a command that ends without an error. */
  exitCode: number;
  /** The exit code 1 is a result of the command. Wrong usage is then 2, and every other error 3. */
  isOneResult: boolean;
}
