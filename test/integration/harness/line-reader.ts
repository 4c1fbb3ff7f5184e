/** Readers of streams of lines, over real connections. */

/** A stream that a client reads. */
export interface LineReader {
  readonly status: number;
  /** The lines that have arrived, without empty lines. */
  readonly lines: Record<string, unknown>[];
  /** Number of empty lines that have arrived. */
  readonly keepalives: number;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  leave(): void;
}

/** Opens a stream. @param address URL of the API @param credential an API key, or headers */
export async function readLines(
  address: string,
  path: string,
  credential: string | Record<string, string>,
): Promise<LineReader> {
  const leaving = new AbortController();
  const response = await fetch(new URL(path, address), {
    headers: typeof credential === 'string' ? { 'x-api-key': credential } : credential,
    signal: leaving.signal,
  });
  const reader = { status: response.status, lines: [] as Record<string, unknown>[], keepalives: 0 };
  const read = async () => {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of response.body ?? []) {
        const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
        rest = parts.pop() ?? '';
        const full = parts.filter((part) => part !== '');
        reader.keepalives += parts.length - full.length;
        reader.lines.push(...full.map((part) => JSON.parse(part)));
      }
    } catch {
      // The test has left, or the connection was cut.
    }
  };
  const ended = read();
  return Object.assign(reader, { ended, leave: () => leaving.abort() });
}
