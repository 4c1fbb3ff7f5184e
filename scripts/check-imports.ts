/**
 * The import rules of the rooms in src/, held against the sources. Run by `npm run check`.
 *
 *   node scripts/check-imports.ts [--help] [ROOT]
 *
 * Prints each import that breaks a rule, with the rule; exits 1 if there is one.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/** For each room, the rooms that it may import besides itself. `type` imports follow the same rules. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  contract: ['domain'],
  workloads: ['contract', 'domain'],
  store: ['domain'],
  kube: ['domain'],
  // Of API users: it knows the HTTP contract alone, by types made from the OpenAPI document.
  client: [],
  // Addresses of hosts that a stranger may have named.
  dns: ['domain'],
  'git-host': ['dns', 'domain'],
  // Who may push to and pull from the platform's registry: keys, credentials, tokens. Pure but for randomness.
  registry: ['domain'],
  // Which digest an image has: a client of registries.
  'image-registry': ['dns', 'domain'],
  tracing: ['store', 'domain'],
  // Berth's own traces.
  telemetry: ['domain'],
  // Everything that Prometheus is told, but for the outbox.
  metrics: ['api', 'store', 'kube', 'domain'],
  // What runs in the Jobs of builds, and the node that runs these on one machine.
  builder: ['contract', 'domain'],
  'build-node': ['kube', 'contract', 'domain'],
  api: ['store', 'workloads', 'contract', 'registry', 'domain'],
  listener: ['kube', 'workloads', 'contract', 'domain'],
  // A deployment as objects that stand without Berth.
  export: ['kube', 'workloads', 'contract', 'domain'],
  operator: ['kube', 'workloads', 'contract', 'image-registry', 'domain'],
};

/** Packages with one home: only these rooms may import them at run time. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  pg: ['store'],
  'drizzle-orm': ['store'],
  // Types only (docs/decisions/0006): it is not installed in production.
  '@kubernetes/client-node': [],
  fastify: ['api'],
  pino: [],
  'prom-client': ['metrics', 'tracing'],
  // Loaded where traces are asked for.
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
};

/** Rooms that may import no package but these (node: modules count as packages). */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  domain: ['zod', 'node:crypto'],
  contract: ['zod', 'node:crypto'],
  workloads: ['@kubernetes/client-node'],
  registry: ['node:crypto'],
};

/**
 * Files of src/ outside the rooms: config sees only the vocabulary; all others are the composition root and see all.
 * Its folder holds its parts, which are imported by it alone: whoever wants a setting comes to the file.
 */
const CONFIG = { file: 'config.ts', folder: 'config', may: ['contract', 'domain'] } as const;
const isConfig = (room: string) => room === CONFIG.file || room === CONFIG.folder;

/** A file directly in src/ (its "room" is its own name) that puts the rooms together. */
const isCompositionRoot = (room: string) => room.endsWith('.ts') && room !== CONFIG.file;

interface Import {
  readonly file: string;
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const IMPORT =
  /^\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

function importsOf(root: string, file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(IMPORT)].map((match) => ({
    file,
    specifier: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  }));
}

const roomOf = (path: string) => path.split('/')[1] ?? '';

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier);
}

function checkPackage({ specifier, typeOnly }: Import, room: string): string | null {
  const name = specifier.startsWith('node:') ? specifier : packageOf(specifier);
  const homes = HOMES[name];
  if (homes !== undefined && !typeOnly && !homes.includes(room) && !isCompositionRoot(room)) {
    return `only ${homes.join(', ') || 'the composition root'} may import ${name}`;
  }
  const only = ONLY[room];
  if (only !== undefined && !only.includes(name)) return `${room} imports no package but ${only.join(', ')}`;
  if (room === 'workloads' && !typeOnly && name === '@kubernetes/client-node')
    return 'workloads imports types only';
  return null;
}

function checkRelative({ file, specifier }: Import, room: string): string | null {
  const target = normalize(join(dirname(file), specifier));
  if (!target.startsWith('src/')) return 'src/ imports nothing outside src/';
  if (!specifier.endsWith('.ts') && !specifier.endsWith('.json'))
    return 'relative imports name the file with its ending';
  const to = roomOf(target);
  if (to === room || (room === CONFIG.file && to === CONFIG.folder)) return null;
  if (to === CONFIG.folder) return 'only config.ts may import config';
  if (isCompositionRoot(room)) return null;
  const allowed = isConfig(room) ? CONFIG.may : ROOMS[room];
  if (allowed === undefined) return `${room} is not a room; name it in ROOMS`;
  return allowed.includes(to)
    ? null
    : `${room} may import ${allowed.join(', ') || 'no other room'}, not ${to}`;
}

/** All broken rules below `root` as lines `file: "specifier": rule`. */
export function brokenImportRules(root: string): string[] {
  const files = globSync('src/**/*.ts', { cwd: root }).map((file) => relative('.', file));
  return files.flatMap((file) =>
    importsOf(root, file).flatMap((found) => {
      const room = roomOf(file);
      const broken = found.specifier.startsWith('.') ? checkRelative(found, room) : checkPackage(found, room);
      return broken === null ? [] : [`${file}: "${found.specifier}": ${broken}`];
    }),
  );
}

/** Reads of process.env outside src/config.ts. */
export function strayEnvironmentReads(root: string): string[] {
  return globSync('src/**/*.ts', { cwd: root })
    .filter(
      (file) => file !== 'src/config.ts' && /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8')),
    )
    .map((file) => `${file}: process.env is read in src/config.ts only`);
}

if (import.meta.main) {
  if (process.argv.includes('--help')) {
    console.log(
      'usage: node scripts/check-imports.ts [ROOT]\nChecks the import rules of the rooms in ROOT/src (default: this folder).',
    );
    process.exit(0);
  }
  const root = process.argv[2] ?? '.';
  const broken = [...brokenImportRules(root), ...strayEnvironmentReads(root)];
  for (const line of broken) console.error(line);
  console.log(broken.length === 0 ? 'import rules: ok' : `import rules: ${broken.length} broken`);
  process.exit(broken.length === 0 ? 0 : 1);
}
