/** Of a crowd: so many write at once. */
export const CLIENTS = 16;

/** Does it for each, in their order, by all clients at once. */
export async function inParallel<T>(all: readonly T[], once: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  const client = async () => {
    for (const one of left) await once(one);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
