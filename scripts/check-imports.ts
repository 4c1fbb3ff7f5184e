/**
 * Checks the import rules of the modules in src/. `npm run check` runs it.
 *
 *   node scripts/check-imports.ts [--help] [ROOT]
 *
 * Prints each import that breaks a rule, with the rule. Exits with 1 if there is one.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/**
 * For each module (a folder below src/), the modules that it may import besides itself. Type imports follow the same
 * rules. A file belongs to the module with the longest path that contains it.
 */
export const MODULES: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  // Reads uploaded archives.
  archive: ['domain'],
  contract: ['domain'],
  workloads: ['contract', 'domain'],
  // Calls hosts that a tenant may have chosen.
  outbound: ['domain'],
  // Traces of Berth itself.
  telemetry: ['domain'],

  'hub/api': ['hub/store', 'hub/registry', 'archive', 'workloads', 'contract', 'domain'],
  'hub/store': ['domain'],
  'hub/tracing': ['hub/store', 'domain'],
  'hub/git-host': ['outbound', 'domain'],
  // The client of the identity provider.
  'hub/identity': ['domain'],
  // Tokens of pipelines and service accounts: their signatures, and the keys of their issuers.
  'hub/workload-identity': ['outbound', 'domain'],
  // Who may push to and pull from the platform's registry. Pure, except for randomness.
  'hub/registry': ['domain'],

  'cluster/kube': ['domain'],
  'cluster/listener': ['cluster/kube', 'workloads', 'contract', 'domain'],
  'cluster/operator': ['cluster/kube', 'cluster/image-registry', 'workloads', 'contract', 'domain'],
  // A client of registries: which digest an image has.
  'cluster/image-registry': ['outbound', 'domain'],
  // What the Jobs of builds run.
  'cluster/builder': ['cluster/image-registry', 'archive', 'outbound', 'contract', 'domain'],
  // A deployment as plain objects that work without Berth.
  'cluster/export': ['cluster/kube', 'workloads', 'contract', 'domain'],

  // Everything that Prometheus scrapes, except for the outbox of tracing.
  metrics: ['hub/api', 'hub/store', 'cluster/kube', 'domain'],
  // What every command is built from: options, formats, wrong usage.
  'cli/command': [],
  // For API users: it knows the HTTP contract only, by types that are generated from the OpenAPI document.
  'cli/client': ['cli/command'],
  // The web console, which runs in browsers. Besides, it may import the generated types of the API (GENERATED_TYPES).
  console: [],
};

/** Types of the HTTP contract, generated from the OpenAPI document. The console imports nothing else of other modules. */
const GENERATED_TYPES = 'src/cli/client/api.gen.ts';

/** Modules that connect the others. They may import every module. `src/main.ts` is one of them. */
const COMPOSITION_ROOTS: readonly string[] = ['app', 'cli', 'main.ts'];

/** Packages with one home: only these modules may import them at run time. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  pg: ['hub/store'],
  'drizzle-orm': ['hub/store'],
  // Elsewhere only its types. A role in a pod does not load it (docs/decisions/0072).
  '@kubernetes/client-node': ['cluster/kube'],
  fastify: ['hub/api'],
  jose: ['hub/registry', 'hub/workload-identity'],
  'openid-client': ['hub/identity'],
  '@fastify/cookie': ['hub/api'],
  'fast-json-stringify': ['hub/api'],
  pino: [],
  // Tenants choose hosts. `outbound` calls them; the others call the API server, the hub and kubelets.
  'node:https': ['outbound', 'cluster/kube', 'cluster/listener'],
  'prom-client': ['metrics', 'hub/tracing'],
  'tar-stream': ['archive'],
  'openapi-fetch': ['cli/client', 'console'],
  // Development packages, which the build puts into the files of the console.
  react: ['console'],
  'react-dom': ['console'],
  '@tanstack/react-query': ['console'],
  '@tanstack/react-router': ['console'],
  '@tanstack/react-virtual': ['console'],
  '@base-ui/react': ['console'],
  '@fastify/static': ['hub/api'],
  ignore: ['cli/client'],
  'modern-tar': ['cli/client'],
  commander: ['cli/command'],
  // Loaded only where traces are enabled.
  '@opentelemetry/api': ['telemetry'],
  '@opentelemetry/sdk-trace': ['telemetry'],
};

/** Modules that may import no packages except these (`node:` modules count as packages). */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  domain: ['zod', 'node:crypto'],
  contract: ['zod', 'node:crypto'],
  workloads: ['@kubernetes/client-node'],
  'hub/registry': ['node:crypto', 'jose'],
  console: [
    ...['react', 'react-dom', '@tanstack/react-query', '@tanstack/react-router', '@tanstack/react-virtual'],
    ...['@base-ui/react', 'openapi-fetch', 'yaml'],
  ],
};

/** The settings. Other modules import only the entry files: of the server, and of the commands for API users. */
const CONFIG = {
  folder: 'config',
  entries: ['src/config/index.ts', 'src/config/client-settings.ts'],
  may: ['contract', 'domain'],
} as const;
const isConfigEntry = (path: string) => CONFIG.entries.some((entry) => entry === path);

const isCompositionRoot = (module: string) => COMPOSITION_ROOTS.includes(module);

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

/** The module of a path such as `src/hub/api/core/app.ts`. */
function moduleOf(path: string): string {
  const parts = path.split('/').slice(1);
  const folders = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join('/'));
  return folders.findLast((folder) => folder in MODULES) ?? parts[0] ?? '';
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier);
}

function checkPackage({ specifier, typeOnly }: Import, module: string): string | null {
  const name = specifier.startsWith('node:') ? specifier : packageOf(specifier);
  const homes = HOMES[name];
  if (homes !== undefined && !typeOnly && !homes.includes(module) && !isCompositionRoot(module)) {
    return `only ${homes.join(', ') || 'the composition root'} may import ${name}`;
  }
  const only = ONLY[module];
  if (only !== undefined && !only.includes(name))
    return `${module} imports no package but ${only.join(', ')}`;
  if (module === 'workloads' && !typeOnly && name === '@kubernetes/client-node')
    return 'workloads imports types only';
  return null;
}

const ENDINGS = /\.(ts|tsx|json|css)$/;

function checkRelative({ file, specifier, typeOnly }: Import, module: string): string | null {
  const target = normalize(join(dirname(file), specifier));
  if (!target.startsWith('src/')) return 'src/ imports nothing outside src/';
  if (!ENDINGS.test(specifier)) return 'relative imports name the file with its ending';
  const to = moduleOf(target);
  if (to === module) return null;
  if (module === 'console' && target === GENERATED_TYPES && typeOnly) return null;
  if (isCompositionRoot(module)) {
    return to !== CONFIG.folder || isConfigEntry(target)
      ? null
      : `only ${CONFIG.folder} may import ${target}`;
  }
  if (to === CONFIG.folder) return `only ${COMPOSITION_ROOTS.join(', ')} may import ${CONFIG.folder}`;
  const allowed = module === CONFIG.folder ? CONFIG.may : MODULES[module];
  if (allowed === undefined) return `${module} is not a module; add it to MODULES`;
  return allowed.includes(to)
    ? null
    : `${module} may import ${allowed.join(', ') || 'no other module'}, not ${to}`;
}

/** All broken rules below `root` as lines `file: "specifier": rule`. */
export function brokenImportRules(root: string): string[] {
  const files = globSync('src/**/*.{ts,tsx}', { cwd: root }).map((file) => relative('.', file));
  return files.flatMap((file) =>
    importsOf(root, file).flatMap((found) => {
      const module = moduleOf(file);
      const broken = found.specifier.startsWith('.')
        ? checkRelative(found, module)
        : checkPackage(found, module);
      return broken === null ? [] : [`${file}: "${found.specifier}": ${broken}`];
    }),
  );
}

/** Reads of process.env outside the entry files of the settings. */
export function strayEnvironmentReads(root: string): string[] {
  return globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !isConfigEntry(file) && /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8')))
    .map((file) => `${file}: process.env is read in ${CONFIG.entries.join(' and ')} only`);
}

if (import.meta.main) {
  if (process.argv.includes('--help')) {
    console.log(
      'usage: node scripts/check-imports.ts [ROOT]\nChecks the import rules of the modules in ROOT/src (default: this folder).',
    );
    process.exit(0);
  }
  const root = process.argv[2] ?? '.';
  const broken = [...brokenImportRules(root), ...strayEnvironmentReads(root)];
  for (const line of broken) console.error(line);
  console.log(broken.length === 0 ? 'import rules: ok' : `import rules: ${broken.length} broken`);
  process.exit(broken.length === 0 ? 0 : 1);
}
