/** Credentials as docker keeps them (`config.json`), of two makers. */

function authsOf(text: string): Record<string, unknown> | null {
  try {
    const { auths } = JSON.parse(text) as { auths?: unknown };
    return typeof auths === 'object' && auths !== null && !Array.isArray(auths)
      ? (auths as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/**
 * Both in one. For a registry that both name, the build's own count: it pushes there.
 * @param own of the build
 * @param bases of the platform; nothing but its `auths` is taken: helpers that it names are programs
 * @returns null: one of them cannot be read
 */
export function mergedDockerConfig(own: string, bases: string): string | null {
  const [first, second] = [authsOf(bases), authsOf(own)];
  return first === null || second === null ? null : JSON.stringify({ auths: { ...first, ...second } });
}
