/** Keys that identify repositories independently of the spelling of their URLs. */

/** Matches `git@host:shop/web.git`, which is not a URL. */
const SCP_FORM = /^(?:[^@/:]+@)?([^@/:]+):(?!\/\/)(.+)$/;

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function parts(url: string): { host: string; path: string } | null {
  if (URL.canParse(url) && url.includes('://')) {
    const { hostname, pathname } = new URL(url);
    return { host: hostname, path: decoded(pathname) };
  }
  const [, host, path] = SCP_FORM.exec(url) ?? [];
  return host === undefined || path === undefined ? null : { host, path };
}

/**
 * Host and path of a repository in normal form. The key is equal for https, ssh and `git@host:…`, with or without
 * `.git`, trailing slashes, a port or capital letters, as on GitHub, GitLab and Gitea. null: not the URL of a
 * repository.
 */
export function repositoryKey(url: string): string | null {
  const found = parts(url.trim());
  if (found === null) return null;
  const path = found.path
    .toLowerCase()
    .replace(/\/{2,}/g, '/')
    .replace(/^\/|\/$/g, '')
    .replace(/\.git$/, '');
  return found.host === '' || path === '' ? null : `${found.host.toLowerCase()}/${path}`;
}
