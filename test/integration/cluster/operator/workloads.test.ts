/**
 * The real API server takes what the workloads room renders: every golden object, every sample, and random specs.
 * All by server-side dry run, as the operator applies them; pod templates also as bare Pods in a namespace of their Pod
 * Security level, because a Deployment passes with a mere warning while its pods are refused.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKubeClient, type KubeClient } from '../../../../src/cluster/kube/client/client.ts';
import type { KubeObject } from '../../../../src/cluster/kube/client/object.ts';
import { CRD_FILE } from '../../../../src/contract/crd/crd.ts';
import type { RenderConfig } from '../../../../src/contract/render/render-config.ts';
import { storedTemplates } from '../../../../src/workloads/stored-templates.ts';
import { domains } from '../../../arbitraries/domains.ts';
import { inPlaceSettings } from '../../../arbitraries/pod-settings.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import { validRunSettings } from '../../../arbitraries/run-settings.ts';
import { FIELD_CASES, GOLDEN_CASES } from '../../../unit/workloads/golden-cases.ts';
import { withSettings } from '../../../unit/workloads/pod-settings-cases.ts';
import type { Rendered } from '../../../unit/workloads/render-request.ts';
import {
  CLOUD,
  minimalRequest,
  type RequestBody,
  render,
  SELF_HOSTED,
} from '../../../unit/workloads/render-request.ts';
import { createNamespace, deleteNamespace, environment, kubectlAsAdmin } from '../../harness/environment.ts';

type Level = RenderConfig['podSecurity'];
const LEVELS: readonly Level[] = ['privileged', 'baseline', 'restricted'];

/** Only where the Gateway API is installed, which is no part of Kubernetes. */
const NOT_IN_EVERY_CLUSTER = ['HTTPRoute'];

/** As many runs find what is common; a fixed seed would find the same thing for ever. */
const RUNS = 60;
const seed = Number(process.env['BERTH_TEST_SEED'] ?? Date.now() % 1_000_000);

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const namespaces = new Map<Level, string>();
let client: KubeClient;

beforeAll(async () => {
  await kubectlAsAdmin(['apply', '--server-side', '-f', `${root}${CRD_FILE}`]);
  await kubectlAsAdmin(['wait', '--for=condition=Established', '-f', `${root}${CRD_FILE}`, '--timeout=30s']);
  for (const level of LEVELS) {
    const namespace = await createNamespace(`level-${level}`);
    await kubectlAsAdmin(['label', 'namespace', namespace, `pod-security.kubernetes.io/enforce=${level}`]);
    namespaces.set(level, namespace);
  }
  client = await createKubeClient({
    kubeconfigPath: environment().kubeconfigPath,
    userAgent: 'berth-test',
    requestTimeoutMs: 30_000,
  });
});
afterAll(async () => {
  for (const namespace of namespaces.values()) await deleteNamespace(namespace);
});

/** A template as the pod that a Deployment would make of it. Its ServiceAccount is replaced by one that is there. */
function barePod(name: string, { metadata, spec }: V1PodTemplateSpec): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: metadata?.labels, annotations: metadata?.annotations },
    spec: { ...spec, serviceAccountName: 'default' },
  } as KubeObject;
}

function templatesIn({ objects, templates }: Rendered): KubeObject[] {
  const dataServices = objects.flatMap(({ object }) => {
    const { template } = (object.spec ?? {}) as { template?: V1PodTemplateSpec };
    return template === undefined ? [] : [barePod(object.metadata.name, template)];
  });
  const components = Object.entries(templates).map(([name, template]) => barePod(`bare-${name}`, template));
  return [...dataServices, ...components];
}

/** Everything that comes of a request: the custom resource, its objects, its stored templates, its pods. */
function everyObject(rendered: Rendered): KubeObject[] {
  const { resource, templates, objects } = rendered;
  const { uid: _, ...metadata } = resource.metadata;
  return [
    { ...resource, metadata } as KubeObject,
    storedTemplates(resource, templates, 1) as KubeObject,
    ...objects.map(({ object }) => object as KubeObject),
    ...templatesIn(rendered),
  ];
}

/** What the API server says against the objects of a request; empty if it takes them all. */
async function refusals(request: RequestBody, config: RenderConfig): Promise<string[]> {
  const namespace = namespaces.get(config.podSecurity);
  const objects = everyObject(render(request, config)).filter(
    ({ kind }) => !NOT_IN_EVERY_CLUSTER.includes(kind),
  );
  const answers = await Promise.all(
    objects.map(async (object) => {
      try {
        const placed = { ...object, metadata: { ...object.metadata, namespace } };
        await client.apply(placed, { dryRun: true, fieldManager: 'berth-operator' });
        return [];
      } catch (error) {
        return [`${object.kind} ${object.metadata.name}: ${(error as Error).message}`];
      }
    }),
  );
  return answers.flat();
}

describe('the objects of a golden case', () => {
  test.each(GOLDEN_CASES.map((golden) => [golden.name, golden] as const))(
    'are accepted by the API server for %s',
    async (_, golden) => {
      expect(await refusals(golden.request, golden.config)).toEqual([]);
    },
  );

  test.each(FIELD_CASES.map(({ field, request }) => [field, request] as const))(
    'are accepted by the API server for the field %s',
    async (_, request) => {
      expect(await refusals(request, SELF_HOSTED)).toEqual([]);
    },
  );
});

describe('the API server', () => {
  const privileged = minimalRequest({
    init_containers: [{ name: 'setup', image: 'setup:1', securityContext: { privileged: true } }],
  });

  test('rejects a pod beyond its Pod Security level', async () => {
    const pods = (await refusals(privileged, SELF_HOSTED)).filter((refusal) =>
      refusal.startsWith('Pod bare-api'),
    );
    expect(pods).toEqual([expect.stringContaining('violates PodSecurity')]);
  });

  test('rejects a pod of the level baseline where the level restricted is required', async () => {
    const rendered = { ...CLOUD, podSecurity: 'baseline' } as const;
    const { templates } = render(minimalRequest(), rendered);
    if (templates.api === undefined) throw new Error('there is always an api');
    const pod = barePod('not-restricted', templates.api);
    const namespace = namespaces.get('restricted');
    const applied = client.apply(
      { ...pod, metadata: { ...pod.metadata, namespace } },
      { dryRun: true, fieldManager: 'berth-operator' },
    );
    await expect(applied).rejects.toThrow('runAsNonRoot');
  });

  test('rejects an unknown field', async () => {
    const namespace = namespaces.get('baseline');
    const metadata = { name: 'unknown-field', namespace };
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ port: 80 }], sizes: 1 },
    };
    const applied = client.apply(service as KubeObject, { dryRun: true, fieldManager: 'berth-operator' });
    await expect(applied).rejects.toThrow('sizes');
  });
});

describe('the objects of a sample', () => {
  const folder = `${root}test/samples/`;
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  test.each(files)('are accepted by the API server for %s', async (file) => {
    const request = JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as RequestBody;
    expect(await refusals(request, SELF_HOSTED)).toEqual([]);
    if (request.source === 'internal_image') expect(await refusals(request, CLOUD)).toEqual([]);
  });

  test('are accepted for the prerequisites', async () => {
    const file = `${folder}prerequisites.yaml`;
    const namespace = namespaces.get('baseline') ?? '';
    await kubectlAsAdmin(['apply', '--dry-run=server', '-n', namespace, '-f', file]);
  });
});

describe(`the objects of random valid specs (BERTH_TEST_SEED=${seed})`, () => {
  test.each([
    ['self_hosted', 'baseline', SELF_HOSTED],
    ['cloud', 'restricted', CLOUD],
  ] as const)('are accepted by the API server in %s mode', async (_, podSecurity, config) => {
    await fc.assert(
      fc.asyncProperty(
        validResourceSpec({ podSecurity }),
        inPlaceSettings(),
        validRunSettings,
        domains(),
        async (spec, settings, runSettings, hosts) => {
          const source = config === CLOUD ? 'internal_image' : 'external_image';
          const sent = withSettings(settings, spec);
          const request = { ...sent, source_config: { ...sent.source_config, domains: hosts } };
          const source_revision_config = { ...request.source_revision_config, ...runSettings };
          expect(await refusals({ ...request, source, source_revision_config }, config)).toEqual([]);
        },
      ),
      { numRuns: RUNS, seed, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
    );
  });
});
