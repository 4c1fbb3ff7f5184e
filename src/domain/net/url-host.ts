/** Host of a URL, in lower case. null: no host, or not a URL. */
export function hostOf(url: unknown): string | null {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
}

/** A host in normal form for comparisons: `A.Example.` and `a.example` are equal. */
export function canonicalHost(host: string): string {
  return host.toLowerCase().replace(/\.+$/, '');
}
