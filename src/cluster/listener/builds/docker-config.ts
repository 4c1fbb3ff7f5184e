/** Docker credentials (`config.json`) from two sources. */

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
 * Merges both. If both sources have a registry, the credentials of the build take precedence, because the build pushes
 * there.
 * @param own credentials of the build
 * @param bases credentials of the platform. Only `auths` is used, because credential helpers are programs.
 * @returns null: one of the two cannot be parsed
 */
export function mergedDockerConfig(own: string, bases: string): string | null {
  const [first, second] = [authsOf(bases), authsOf(own)];
  return first === null || second === null ? null : JSON.stringify({ auths: { ...first, ...second } });
}
