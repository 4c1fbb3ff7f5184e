/** What users apply is what the chart renders, and is accepted by a real API server, its pods as restricted ones. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profiles, renderedFile, staleFiles } from '../../../scripts/manifests.ts';
import { FIRST_TIME_MS } from '../../cluster/images/tools.ts';
import { waitFor } from '../../cluster/wait.ts';
import { textOf } from '../../docs/pages.ts';
import {
  BERTH_NAMESPACE,
  installBerth,
  type ManifestObject,
  manifestObjects,
} from '../../installation/install.ts';
import { environment, kubectlAsAdmin, uniqueName } from '../harness/environment.ts';

interface Manifest extends ManifestObject {
  metadata: ManifestObject['metadata'] & { labels?: Record<string, string> };
  spec?: { template?: { metadata?: object; spec?: { containers: { image: string; args: string[] }[] } } };
}

const manifests = new Map(profiles().map((profile) => [profile, manifestObjects(profile) as Manifest[]]));

beforeAll(() => installBerth(environment()));

const dryRun = (items: readonly unknown[]) =>
  kubectlAsAdmin(
    ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );

/** In namespaces that are there: a dry run makes none. */
const inNamespacesThatAreThere = (object: Manifest): Manifest => ({
  ...object,
  metadata: {
    ...object.metadata,
    ...(object.metadata.namespace === 'berth-apps' ? { namespace: 'default' } : {}),
  },
});

it(
  'the committed manifests equal what the chart renders, and its schema has the current settings',
  async () => {
    expect([...(await staleFiles()).keys()], 'npm run manifests').toEqual([]);
  },
  FIRST_TIME_MS,
);

/** What outlives Berth, and every deployment with it. */
const KEPT = [
  'CustomResourceDefinition',
  'Namespace',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];
const placeOf = ({ namespace }: ManifestObject['metadata']) =>
  namespace === undefined ? 'cluster' : namespace === BERTH_NAMESPACE ? namespace : 'another';

/** Kinds and places that install.md removes by their label. */
const removed = new Set(
  [
    ...textOf('docs/install.md').matchAll(
      /kubectl (?:-n (\S+) )?delete (\S+) -l '?app\.kubernetes\.io\/name=berth/g,
    ),
  ].flatMap(([, namespace, kinds = '']) =>
    kinds
      .split(',')
      .map((kind) => kind.replace(/ies$/, 'y').replace(/(?<=ss)es$|(?<!s)s$/, ''))
      .map((kind) => `${kind} ${placeOf({ name: '', ...(namespace === undefined ? {} : { namespace }) })}`),
  ),
);

/** What belongs to the definition, which the label `component!=crd` excludes from the commands. */
const isOfDefinition = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/component'] === 'crd';

describe.each([...manifests])('the profile %s', (profile, objects) => {
  it('is accepted by the API server', async () => {
    const answers = await dryRun(objects.map(inNamespacesThatAreThere));
    expect(answers.trim().split('\n')).toHaveLength(objects.length);
    expect(answers.match(/serverside-applied/g)).toHaveLength(objects.length);
  });

  it('has only pods that meet the restricted level', async () => {
    const pods = objects.flatMap(({ metadata, spec }) =>
      spec?.template === undefined
        ? []
        : [
            {
              apiVersion: 'v1',
              kind: 'Pod',
              metadata: {
                ...spec.template.metadata,
                name: `trial-${metadata.name}`,
                namespace: 'berth-system',
              },
              spec: { ...spec.template.spec, serviceAccountName: 'default' },
            },
          ],
    );
    expect(pods.length).toBeGreaterThan(0);
    expect((await dryRun(pods)).match(/serverside-applied/g)).toHaveLength(pods.length);
  });

  it('is removed by the commands of install.md, except for the CRD, its guard, the rights of users and the namespaces', () => {
    const kept = objects.filter(
      (object) =>
        isOfDefinition(object) || !removed.has(`${object.kind.toLowerCase()} ${placeOf(object.metadata)}`),
    );
    const kinds = new Set(kept.filter((object) => !isOfDefinition(object)).map(({ kind }) => kind));
    expect([...kinds].filter((kind) => !KEPT.includes(kind))).toEqual([]);
    const gone = objects.filter((object) => !kept.includes(object));
    expect(gone.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] !== 'berth')).toEqual(
      [],
    );
    expect(gone.filter(({ kind }) => KEPT.includes(kind))).toEqual([]);
    // What takes all of it says so before anybody reads a command into it.
    expect(readFileSync(renderedFile(profile), 'utf8').split('\nkind: ')[0]).toContain(
      'Never run `kubectl delete -f` with this file',
    );
  });

  it('uses one image with the version in package.json', () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
    ) as {
      version: string;
    };
    const images = objects.flatMap(
      ({ spec }) => spec?.template?.spec?.containers.map(({ image }) => image) ?? [],
    );
    expect(new Set(images)).toEqual(new Set([`berth:${version}`]));
  });
});

/** On a custom resource of this test's own: that of Berth is everybody's. */
describe('the guard of the CRD', () => {
  const GUARD = 'berth-crd-goes-forward';
  const CRD = 'manageddeployments.berth.dev';
  const group = `${uniqueName('guard')}.example.com`;
  const guard = uniqueName('guard');
  const crd = `trials.${group}`;

  /** A custom resource in some revision; null: of a chart that knew none. */
  const definition = (revision: number | null, shortNames: string[]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: crd,
      annotations: revision === null ? {} : { 'berth.dev/crd-revision': String(revision) },
    },
    spec: {
      group,
      names: { kind: 'Trial', plural: 'trials', singular: 'trial', listKind: 'TrialList', shortNames },
      scope: 'Namespaced',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  });
  /** Server-side, so that an annotation that is left out goes. */
  const apply = (object: object) =>
    kubectlAsAdmin(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(object));

  beforeAll(async () => {
    const objects = manifestObjects('ha').filter(({ metadata }) => metadata.name === GUARD);
    expect(objects).toHaveLength(2);
    const own = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    await kubectlAsAdmin(['apply', '-f', '-'], own.replaceAll(GUARD, guard).replaceAll(CRD, crd));
    await apply(definition(2, ['two']));
  });

  afterAll(async () => {
    await kubectlAsAdmin([
      'delete',
      `validatingadmissionpolicybinding/${guard}`,
      `validatingadmissionpolicy/${guard}`,
      `crd/${crd}`,
      '--ignore-not-found',
      '--wait=false',
    ]);
  });

  it('rejects a CRD of a lower or missing revision with another spec, and accepts the same and higher ones', async () => {
    const refusal = /in revision 2, this is revision 1: an older one would lose fields.*crds\.install=false/;
    const refused = (object: object) => apply(object).then(() => '', String);
    // Until the API server knows of the guard, an older one gets through: then it is put forward again.
    await waitFor(
      'the guard to count',
      async () => {
        if (refusal.test(await refused(definition(1, ['one'])))) return true;
        await apply(definition(2, ['two']));
        return false;
      },
      { timeoutMs: 30_000 },
    );
    expect(await refused(definition(null, ['none']))).toMatch(/in revision 2, this is revision 0/);
    await apply(definition(1, ['two']));
    await apply(definition(2, ['two']));
    await apply(definition(2, ['two-by-hand']));
    await apply(definition(10, ['ten']));
    expect(await refused(definition(9, ['nine']))).toMatch(/in revision 10, this is revision 9/);
  });
});
