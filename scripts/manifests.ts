/**
 * Renders the profiles of the chart into manifests/, one file for each profile, for `kubectl apply`. Also updates two parts of
 * the chart: the settings that its values schema accepts, and its copies of generated files.
 *
 *   npm run manifests [-- --check | --help]
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, promisify } from 'node:util';
import { SETTINGS } from '../src/config/settings.ts';
import { CRD_FILE } from '../src/contract/crd/crd.ts';
import { TASK_CRD_FILE } from '../src/contract/crd/task-crd.ts';
import { resolveHelm } from '../test/cluster/helm.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Folder of the chart. */
export const CHART = join(root, 'manifests/helm/berth');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const IMAGE = `berth:${version}`;
const SCHEMA = join(CHART, 'values.schema.json');
/** Files of the chart that are copies, with their sources. Not links: a packaged chart does not contain the target of a link. */
const COPIES: Readonly<Record<string, string>> = {
  'manageddeployments.yaml': CRD_FILE,
  'deploymenttasks.yaml': TASK_CRD_FILE,
  'berth-alerts.yaml': 'manifests/monitoring/berth-alerts.yaml',
  'berth-dashboard.json': 'manifests/monitoring/berth-dashboard.json',
};
/** Namespace of Berth in the rendered files. */
const NAMESPACE = 'berth-system';

/** Settings that users cannot give as `config`, because the chart derives them from other values or from its pods. */
const SET_BY_CHART: readonly string[] = [
  'BERTH_HOSTING',
  'BERTH_POLICY',
  'BERTH_NAMESPACE',
  'BERTH_NAMESPACES',
  'BERTH_PORT',
  'BERTH_METRICS_PORT',
  'BERTH_BUILD_NAMESPACE',
  'BERTH_BUILDS',
  'BERTH_BUILD_BERTH_IMAGE',
  'BERTH_BUILD_CA',
  'BERTH_SERVICE_ACCOUNT_PATH',
  'BERTH_KUBECONFIG',
  'BERTH_LISTENER_KUBECONFIG',
  'BERTH_OPERATOR_KUBECONFIG',
  'KUBECONFIG',
  'BERTH_TERMINATION_LOG',
];

interface Schema {
  properties: { config: { properties: Record<string, object> } };
  $defs: { secretKeys: { properties: Record<string, object> } };
}

/** Names of the profiles, in order. */
export function profiles(): string[] {
  return readdirSync(join(CHART, 'profiles'))
    .map((file) => basename(file, '.yaml'))
    .sort();
}

/** Path of a profile's file for `helm -f`. */
export function profileFile(profile: string): string {
  return join(CHART, 'profiles', `${profile}.yaml`);
}

/** Path of the rendered file of a profile. */
export function renderedFile(profile: string): string {
  return join(root, 'manifests', `${profile}.yaml`);
}

/**
 * The current text of values.schema.json. `config` accepts each setting that is not a secret and that the chart does not set.
 * `existingSecretKeys` accepts each setting that is a secret.
 */
export function valuesSchema(): string {
  const schema = JSON.parse(readFileSync(SCHEMA, 'utf8')) as Schema;
  const accepted = Object.entries(SETTINGS).filter(
    ([name, setting]) => !('secret' in setting) && !SET_BY_CHART.includes(name),
  );
  schema.properties.config.properties = Object.fromEntries(
    accepted.map(([name, { help }]) => [name, { type: 'string', description: help }]),
  );
  schema.$defs.secretKeys.properties = Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([name, setting]) =>
      'secret' in setting ? [[name, { type: 'string', minLength: 1, description: setting.help }]] : [],
    ),
  );
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** A chart to render instead of that of this checkout. */
interface RenderedRelease {
  /** Folder of the chart. */
  chart: string;
  /** The image that its objects name. */
  image: string;
}

/** Renders a profile for `kubectl apply -f`. @throws Error with the message of Helm */
export async function render(helm: string, profile: string, release?: RenderedRelease): Promise<string> {
  const { stdout } = await promisify(execFile)(
    helm,
    [
      'template',
      'berth',
      release?.chart ?? CHART,
      '--namespace',
      NAMESPACE,
      '-f',
      profileFile(profile),
      '--set',
      'namespace.create=true',
    ],
    { maxBuffer: 16 * 1024 * 1024 },
  );
  const origin = release
    ? `# The profile ${profile} of the chart of Berth ${version}.
# The image is ${release.image}. If you copy it to another registry, set its name in kustomization.yaml.
`
    : `# The profile ${profile} of the chart manifests/helm/berth, rendered by \`npm run manifests\`. Do not edit.
# The image is ${IMAGE}, which no registry has: set your own image (docs/install.md, "With kubectl").
`;
  const head = `${origin}# Never run \`kubectl delete -f\` with this file. It would delete the custom resource definition, and with it every deployment,
# and the namespace with your keys. docs/install.md, "Remove it", describes how to remove Berth and keep both.
`;
  return head + stdout.replace(/^# Source: .*\n/gm, '').replace(/[ \t]+$/gm, '');
}

/** The copies in the chart that differ from their sources, with the text of the source. */
function staleCopies(): Map<string, string> {
  const wanted = Object.entries(COPIES).map(
    ([name, source]) => [join(CHART, 'files', name), readFileSync(join(root, source), 'utf8')] as const,
  );
  return new Map(wanted.filter(([path, text]) => stored(path) !== text));
}

/** The stale files, with their current text. */
export async function staleFiles(): Promise<Map<string, string>> {
  const helm = await resolveHelm();
  const wanted = staleCopies();
  for (const profile of profiles()) wanted.set(renderedFile(profile), await render(helm, profile));
  const stale = new Map([...wanted].filter(([path, text]) => stored(path) !== text));
  return schemaIsStale() ? new Map([[SCHEMA, valuesSchema()], ...stale]) : stale;
}

/** Whether the values schema accepts other settings than Berth has. Ignores the layout, which the formatter determines. */
export function schemaIsStale(): boolean {
  return !isDeepStrictEqual(JSON.parse(readFileSync(SCHEMA, 'utf8')), JSON.parse(valuesSchema()));
}

/** Writes the stale files. Resolves with their paths. */
export async function writeManifests(): Promise<string[]> {
  const schema = schemaIsStale() ? [SCHEMA] : [];
  // The schema comes first: with a stale schema, Helm can reject a profile or render it wrongly.
  if (schema.length > 0) writeFileSync(SCHEMA, valuesSchema());
  const copies = staleCopies();
  for (const [path, text] of copies) writeFileSync(path, text);
  const stale = await staleFiles();
  for (const [path, text] of stale) writeFileSync(path, text);
  return [...schema, ...copies.keys(), ...stale.keys()];
}

function stored(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const [argument] = process.argv.slice(2);
  if (argument === '--help') {
    console.log(
      'usage: npm run manifests [-- --check]\nRenders manifests/*.yaml from manifests/helm/berth; with --check, only reports whether they are up to date.',
    );
  } else {
    const stale = argument === '--check' ? [...(await staleFiles()).keys()] : [];
    for (const path of stale) console.log(`${path} is stale: run npm run manifests`);
    if (argument === '--check') {
      if (stale.length === 0) console.log('manifests/: ok');
      process.exitCode = stale.length > 0 ? 1 : 0;
    } else for (const path of await writeManifests()) console.log(`wrote ${path}`);
  }
}
