/** Checks the compatibility of versions of Berth and of its custom resource. */

/** The part of a version that must be equal: `1` of 1.4.2, or `0.4` of 0.4.2 while the major version is 0. */
function series(version: string): string | null {
  const found = /^(\d+)\.(\d+)\./.exec(version);
  if (found === null) return null;
  const [, major, minor] = found;
  return major === '0' ? `0.${minor}` : (major ?? null);
}

/** Whether a listener and a hub of these versions use the same listener protocol. */
export function areCompatible(hubVersion: string, listenerVersion: string): boolean {
  const [hub, listener] = [series(hubVersion), series(listenerVersion)];
  return hub !== null && hub === listener;
}

/** The parts of a schema that are needed to compare fields. */
export interface Fields {
  readonly properties?: Readonly<Record<string, Fields>>;
  readonly items?: Fields;
}

/**
 * Paths of fields that `expected` has and `served` lacks, such as `spec.database.storage`. Of nested missing fields,
 * only the outermost is returned.
 */
export function missingFields(expected: Fields, served: Fields, at = ''): string[] {
  const own = Object.entries(expected.properties ?? {}).flatMap(([name, schema]) => {
    const path = at === '' ? name : `${at}.${name}`;
    const other = served.properties?.[name];
    return other === undefined ? [path] : missingFields(schema, other, path);
  });
  if (expected.items === undefined) return own;
  return [...own, ...missingFields(expected.items, served.items ?? {}, `${at}[]`)];
}
