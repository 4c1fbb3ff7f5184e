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
 * Merges both. For a registry in both, the build's own credentials win, because the build pushes there.
 * @param own of the build
 * @param bases of the platform. Only `auths` is used: credential helpers are programs.
 * @returns null: one of them cannot be parsed
 */
export function mergedDockerConfig(own: string, bases: string): string | null {
  const [first, second] = [authsOf(bases), authsOf(own)];
  return first === null || second === null ? null : JSON.stringify({ auths: { ...first, ...second } });
}
