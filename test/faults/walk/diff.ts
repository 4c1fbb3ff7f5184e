/** Differences between two states, as readable lines. */

const SHOWN = 40;
const LENGTH = 300;

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > LENGTH ? `${text.slice(0, LENGTH)}…` : text;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** One line for each path at which two JSON values differ. */
export function differences(walked: unknown, direct: unknown, path: string): string[] {
  if (JSON.stringify(walked) === JSON.stringify(direct)) return [];
  if (!isMap(walked) || !isMap(direct) || Array.isArray(walked) !== Array.isArray(direct)) {
    return [`${path}: walked ${short(walked)}, direct ${short(direct)}`];
  }
  const keys = new Set([...Object.keys(walked), ...Object.keys(direct)]);
  return [...keys].flatMap((key) => differences(walked[key], direct[key], `${path}.${key}`));
}

/** @param except names of objects that may exist in only one of the states */
export function diffObjects(
  walked: ReadonlyMap<string, string>,
  direct: ReadonlyMap<string, string>,
  except: (name: string) => boolean,
): string[] {
  const names = [...new Set([...walked.keys(), ...direct.keys()])].sort();
  const lines = names.flatMap((name) => {
    const [mine, theirs] = [walked.get(name), direct.get(name)];
    if (mine === theirs || ((mine === undefined || theirs === undefined) && except(name))) return [];
    if (mine === undefined) return [`${name}: only in the direct state`];
    if (theirs === undefined) return [`${name}: only in the walked state`];
    return differences(JSON.parse(mine), JSON.parse(theirs), name);
  });
  return lines.length <= SHOWN ? lines : [...lines.slice(0, SHOWN), `… and ${lines.length - SHOWN} more`];
}
