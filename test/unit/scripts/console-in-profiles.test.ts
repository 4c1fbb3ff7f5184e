import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

/** The rendered profiles of the chart (`npm run manifests`) serve the console. */

interface ManifestObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly replicas?: number;
    readonly sessionAffinity?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly {
          readonly args?: readonly string[];
          readonly env?: readonly { readonly name: string }[];
          readonly volumeMounts?: readonly { readonly mountPath: string }[];
        }[];
      };
    };
  };
}

/** The other objects are large, and do not matter here. */
const READ = /^kind: (Deployment|Service|ConfigMap)$/m;

const objectsOf = (profile: string): ManifestObject[] =>
  readFileSync(new URL(`../../../manifests/${profile}.yaml`, import.meta.url), 'utf8')
    .split(/^---$/m)
    .filter((text) => READ.test(text))
    .map((text) => parse(text) as ManifestObject);

const servesApi = ({ kind, spec }: ManifestObject) =>
  kind === 'Deployment' &&
  spec?.template?.spec.containers.some(({ args }) => args?.some((arg) => arg === 'api' || arg === 'all'));

test.each([
  ['single', 1],
  ['ha', 2],
] as const)('the profile %s serves the console from %d pods', (profile, replicas) => {
  const objects = objectsOf(profile);
  const api = objects.find(servesApi)?.spec;
  expect(api?.replicas ?? 1).toBe(replicas);
  const [container] = api?.template?.spec.containers ?? [];
  // The console is on unless a setting switches it off.
  const names = [
    ...(container?.env ?? []).map(({ name }) => name),
    ...objects.flatMap(({ kind, data }) => (kind === 'ConfigMap' ? Object.keys(data ?? {}) : [])),
  ];
  expect(names).not.toContain('BERTH_CONSOLE');
  // A volume would hide the files of the image.
  const mounts = container?.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
  expect(mounts.filter((path) => path === '/app' || path.startsWith('/app/dist'))).toEqual([]);
  // Any pod can serve any request: sessions are in PostgreSQL, and all pods have the same files.
  const labels = api?.template?.metadata.labels ?? {};
  const services = objects.filter(
    ({ kind, spec }) =>
      kind === 'Service' &&
      Object.entries(spec?.selector ?? { none: '' }).every(([name, value]) => labels[name] === value),
  );
  expect(services.length).toBeGreaterThan(0);
  for (const { spec } of services) expect(spec?.sessionAffinity ?? 'None').toBe('None');
});
