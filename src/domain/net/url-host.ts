/** Host of a URL, in lower case; null: there is none, or it is no URL. */
export function hostOf(url: unknown): string | null {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : null;
}

/** A host in the one form in which hosts are compared: `A.Example.` and `a.example` are one host. */
export function canonicalHost(host: string): string {
  return host.toLowerCase().replace(/\.+$/, '');
}
