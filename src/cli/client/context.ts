import { type Format, printed, type View } from '../command/output.ts';
import type { Client } from './client.ts';
import { cell } from './table.ts';

/** What every command that calls the API gets. */

/** Options of all these commands. */
export interface CallOptions {
  /** undefined: the command has no result. */
  readonly output?: Format;
  readonly url?: string;
  readonly context?: string;
}

export interface Context {
  readonly client: Client;
  readonly format: Format;
  /** Writes a line to standard output. */
  print(text: string): void;
  /** Writes progress to standard error. */
  note(text: string): void;
  /** Aborted when the user wants to stop. */
  readonly stopped: AbortSignal;
}

/** Prints a value in the requested format. */
export const show = (context: Context, value: unknown, view: View): Promise<void> =>
  printed(context.format, value, view, (text) => context.print(text));

/** Notes each name that is not stored. A command that removes it has no effect, so it can be repeated. */
export function noteNotSet(
  context: Context,
  stored: readonly { readonly name: string }[],
  names: readonly string[],
): void {
  const known = new Set(stored.map(({ name }) => name));
  for (const name of names) if (!known.has(name)) context.note(`${cell(name)} is not set`);
}

/** Prints the data services that a change restarts, with the reasons. */
export function noteEffects(
  context: Context,
  { effects = [] }: { readonly effects?: readonly string[] },
): void {
  for (const effect of effects) context.note(cell(effect));
}
