/** Parses the authentication challenge of a registry (RFC 9110, 11.6.1; distribution's token protocol). */

export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer';
      /** URL of the token server. */
      readonly realm: string;
      readonly service: string | null;
      readonly scope: string | null;
    };

/** Maximum length of a legitimate header. */
const MAX_LENGTH = 4096;
const SCHEME = /^\s*,?\s*([A-Za-z]+)(?=\s|,|$)/;
const PARAMETER = /^\s*,?\s*([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/;

interface Read {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

/** The challenges of a header, in order. Parsing stops at the first invalid challenge. */
function challengesOf(header: string): Read[] {
  const found: Read[] = [];
  let rest = header.slice(0, MAX_LENGTH);
  while (rest.trim() !== '') {
    const parameter = PARAMETER.exec(rest);
    const last = found.at(-1);
    if (parameter !== null && last !== undefined) {
      const [all, name = '', quoted, plain = ''] = parameter;
      last.parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain);
      rest = rest.slice(all.length);
      continue;
    }
    const scheme = SCHEME.exec(rest);
    if (scheme === null) break;
    found.push({ scheme: (scheme[1] ?? '').toLowerCase(), parameters: new Map() });
    rest = rest.slice(scheme[0].length);
  }
  return found;
}

/**
 * Reads a `www-authenticate` header. Bearer is preferred over Basic, so that the password goes only to the token
 * server. null: no supported scheme.
 */
export function parseChallenge(header: string | undefined): Challenge | null {
  const all = challengesOf(header ?? '');
  const bearer = all.find(({ scheme, parameters }) => scheme === 'bearer' && parameters.has('realm'));
  if (bearer !== undefined) {
    const { parameters } = bearer;
    return {
      scheme: 'bearer',
      realm: parameters.get('realm') ?? '',
      service: parameters.get('service') ?? null,
      scope: parameters.get('scope') ?? null,
    };
  }
  return all.some(({ scheme }) => scheme === 'basic') ? { scheme: 'basic' } : null;
}
