/** Summarizes CPU profiles of V8 (node --cpu-prof). */

/** The format of V8. Times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Time in a function, file or package. */
export interface Cost {
  /** Function with file and line, or file or package. */
  readonly name: string;
  /** Share of the time in which code ran, from 0 to 1. */
  readonly share: number;
}

const NOT_BUSY = new Set(['(idle)', '(program)', '(root)']);

/** The file or package of a URL: `src/hub/api/core/auth.ts`, `fastify`. */
function placeOf(url: string): string {
  const modules = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (modules !== undefined) return modules;
  return /\/(src\/[^?]*)$/.exec(url)?.[1] ?? (url === '' ? '(native)' : url.replace(/^.*\//, ''));
}

function ranked(costs: ReadonlyMap<string, number>, most: number): Cost[] {
  const total = [...costs.values()].reduce((sum, cost) => sum + cost, 0);
  return [...costs]
    .map(([name, cost]) => ({ name, share: cost / total }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, most);
}

/** The functions, and the files or packages, with the most self time. */
export function topCosts(profile: CpuProfile, most = 15): { functions: Cost[]; places: Cost[] } {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const functions = new Map<string, number>();
  const places = new Map<string, number>();
  const add = (costs: Map<string, number>, name: string, cost: number) =>
    costs.set(name, (costs.get(name) ?? 0) + cost);
  for (const [index, id] of profile.samples.entries()) {
    const frame = nodes.get(id)?.callFrame;
    if (frame === undefined || NOT_BUSY.has(frame.functionName)) continue;
    const cost = profile.timeDeltas[index] ?? 0;
    const place = placeOf(frame.url);
    add(functions, `${frame.functionName || '(anonymous)'} ${place}:${frame.lineNumber + 1}`, cost);
    add(places, place, cost);
  }
  return { functions: ranked(functions, most), places: ranked(places, most) };
}
