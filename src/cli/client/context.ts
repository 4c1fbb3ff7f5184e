import type { Client } from './client.ts';

/** The context of every client command. */

export const FORMATS = ['table', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

export interface Context {
  readonly client: Client;
  readonly format: Format;
  /** Continue with new lines, for logs. */
  readonly follow?: boolean;
  /** Writes a line to standard output. */
  print(text: string): void;
  /** Writes progress to standard error. */
  note(text: string): void;
  /** Aborted when the user wants to stop. */
  readonly stopped: AbortSignal;
}

/** The command line is wrong. */
export class ClientUsageError extends Error {}

/** Prints a value in the requested format. `asTable` renders the value for people. */
export async function show(context: Context, value: unknown, asTable: () => string): Promise<void> {
  if (context.format === 'table') context.print(asTable());
  else if (context.format === 'json') context.print(JSON.stringify(value, null, 2));
  else context.print((await import('yaml')).stringify(value).trimEnd());
}
