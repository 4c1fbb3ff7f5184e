import type { Context } from '../context.ts';
import { followed } from '../logs/log-output.ts';
import { cell } from '../table.ts';

/** `berth watch`. */

interface Line {
  readonly type: string;
  readonly deployment_id?: string | null;
  readonly generation?: number | null;
}

/** A line for people. */
export function lineOf({ type, deployment_id: id, generation }: Line): string {
  if (type === 'reset') return 'reset';
  if (id == null) return 'tenant';
  return generation == null ? `${cell(id)}  deleted` : `${cell(id)}  generation ${cell(generation)}`;
}

/** Prints changes as they arrive. A stream that ends early is requested again, and begins with a reset. */
export async function watchChanges(context: Context): Promise<'reached'> {
  const lines = followed(context, () => context.client.lines('/v2/watch', {}));
  for await (const line of lines)
    context.print(context.format === 'json' ? JSON.stringify(line) : lineOf(line as Line));
  return 'reached';
}
