/** Which versions of Berth, and of its custom resource, work together. */

/** The part of a version that must be the same: `1` of 1.4.2; while the first number is 0, `0.4` of 0.4.2. */
function series(version: string): string | null {
  const found = /^(\d+)\.(\d+)\./.exec(version);
  if (found === null) return null;
  const [, major, minor] = found;
  return major === '0' ? `0.${minor}` : (major ?? null);
}

/** Whether a listener of one version may serve a hub of another: they speak the same listener protocol. */
export function areCompatible(hubVersion: string, listenerVersion: string): boolean {
  const [hub, listener] = [series(hubVersion), series(listenerVersion)];
  return hub !== null && hub === listener;
}

/** A schema as far as fields are compared. */
export interface Fields {
  readonly properties?: Readonly<Record<string, Fields>>;
  readonly items?: Fields;
}

/** Paths of the fields that `expected` has and `served` has not: `spec.database.storage`; of nested ones the outermost. */
export function missingFields(expected: Fields, served: Fields, at = ''): string[] {
  const own = Object.entries(expected.properties ?? {}).flatMap(([name, schema]) => {
    const path = at === '' ? name : `${at}.${name}`;
    const other = served.properties?.[name];
    return other === undefined ? [path] : missingFields(schema, other, path);
  });
  if (expected.items === undefined) return own;
  return [...own, ...missingFields(expected.items, served.items ?? {}, `${at}[]`)];
}
