/** The lines of the stream of changes. */

export interface Change {
  readonly type: 'change';
  readonly key: string;
  /** null: something of the tenant that is not a deployment. */
  readonly deployment_id: string | null;
}
/** Changes may be missing. */
export interface Reset {
  readonly type: 'reset';
}
export type Hint = Change | Reset;

/** The last line of a stream. */
export interface StreamEnd {
  readonly end: string;
  readonly reason: 'complete' | 'continue' | 'denied' | 'failed';
}

export const isHint = (item: unknown): item is Hint =>
  typeof item === 'object' &&
  item !== null &&
  'type' in item &&
  (item.type === 'change' || item.type === 'reset');

export const isEnd = (item: unknown): item is StreamEnd =>
  typeof item === 'object' && item !== null && 'end' in item && 'reason' in item;

/** The chunks of a body. Safari cannot iterate over the body itself. */
export async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * The objects of a stream of JSON lines. undefined: an empty line, which shows that the stream works.
 * @throws SyntaxError for a line that is not JSON
 */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line === '' ? undefined : (JSON.parse(line) as unknown);
  }
}
