import type { Client } from './client.ts';

/** What every command of the client works with. */

export const FORMATS = ['table', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

export interface Context {
  readonly client: Client;
  readonly format: Format;
  /** Go on with what comes later, for logs. */
  readonly follow?: boolean;
  /** Writes to standard output, with a line end. */
  print(text: string): void;
  /** Writes to standard error: what is on its way. */
  note(text: string): void;
  /** Aborted when the user wants to stop. */
  readonly stopped: AbortSignal;
}

/** The command line is wrong. */
export class ClientUsageError extends Error {}

/** Prints a value as asked; `asTable` makes it for people. */
export async function show(context: Context, value: unknown, asTable: () => string): Promise<void> {
  if (context.format === 'table') context.print(asTable());
  else if (context.format === 'json') context.print(JSON.stringify(value, null, 2));
  else context.print((await import('yaml')).stringify(value).trimEnd());
}
