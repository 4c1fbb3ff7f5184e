import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  type DeploymentTask,
  deploymentTaskSpecSchema,
} from '../../../src/contract/resource/deployment-task.ts';
import { desiredObjects } from '../../../src/workloads/desired-objects.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { taskJob } from '../../../src/workloads/tasks/task-job.ts';
import { GOLDEN_CASES } from './golden-cases.ts';
import { yaml } from './golden-text.ts';
import { resourceOf } from './render-request.ts';

/** The Jobs of tasks. Rewrite with `npm run golden`, then read the difference. */

const folder = fileURLToPath(new URL('../../golden/tasks/', import.meta.url));

const taskWith = (spec: object): DeploymentTask => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'DeploymentTask',
  metadata: { name: 'migrate', namespace: 'apps', uid: '22222222-2222-4333-8444-555555555555' },
  spec: deploymentTaskSpecSchema.parse({ deployment: 'demo', command: ['./migrate', '--all'], ...spec }),
});

function jobOf(name: string, spec: object = {}) {
  const golden = GOLDEN_CASES.find((each) => each.name === name);
  if (golden === undefined) throw new Error(`there is no golden case ${name}`);
  const resource = resourceOf(golden.request, golden.config);
  const task = taskWith(spec);
  const template = renderTemplates(resource, golden.config)[task.spec.component];
  if (template === undefined) throw new Error(`${name} has no ${task.spec.component}`);
  return { job: taskJob(resource, task, template), template, resource, golden };
}

interface JobPod {
  metadata: { labels: Record<string, string> };
  spec: {
    restartPolicy: string;
    topologySpreadConstraints?: object;
    containers: { name: string; [field: string]: unknown }[];
    initContainers?: { name: string; restartPolicy?: string }[];
  };
}
const podOf = (job: object) => (job as { spec: { template: JobPod } }).spec.template;

describe('the Job of a task', () => {
  test.each([
    ['minimal', {}],
    ['everything', { timeoutSeconds: 60, cpu: '2', memory: '4Gi' }],
    ['container-order', {}],
    ['cloud', {}],
    ['ordinary-image', { component: 'queue' }],
    ['secret-references', {}],
  ])('matches the golden file of %s', async (name, spec) => {
    await expect(yaml(jobOf(name, spec).job)).toMatchFileSnapshot(`${folder}${name}.yaml`);
  });

  test.each(GOLDEN_CASES.filter(({ name }) => name !== 'no-revision').map(({ name }) => [name]))(
    'of %s has one ordinary container without probes, ports and hooks, and ends',
    (name) => {
      const { job, template } = jobOf(name);
      const { spec } = podOf(job);
      expect(spec.restartPolicy).toBe('Never');
      expect(spec.topologySpreadConstraints).toBeUndefined();
      expect(spec.containers.map((container) => container.name)).toEqual(['app']);
      for (const field of ['startupProbe', 'livenessProbe', 'readinessProbe', 'ports', 'lifecycle', 'args'])
        expect(spec.containers[0]).not.toHaveProperty(field);
      const sidecars = (template.spec?.containers ?? []).filter((container) => container.name !== 'app');
      for (const sidecar of sidecars)
        expect(spec.initContainers).toContainEqual(
          expect.objectContaining({ name: sidecar.name, restartPolicy: 'Always' }),
        );
    },
  );

  test('keeps image, environment, volumes and account of the component', () => {
    const { job, template } = jobOf('everything');
    const app = template.spec?.containers[0];
    const { containers, ...pod } = podOf(job).spec as JobPod['spec'] & Record<string, unknown>;
    expect(containers[0]).toMatchObject({
      image: app?.image,
      env: app?.env,
      volumeMounts: app?.volumeMounts,
    });
    expect(pod).toMatchObject({
      serviceAccountName: template.spec?.serviceAccountName,
      volumes: template.spec?.volumes,
    });
  });

  test('is selected by the NetworkPolicies of its deployment, and by no Service, budget or Deployment', () => {
    const { job, resource, golden } = jobOf('cloud');
    const { labels } = podOf(job).metadata;
    const templates = renderTemplates(resource, golden.config);
    const objects = desiredObjects(resource, golden.config, { templates }).map(({ object }) => object);
    const selects = (selector: {
      matchLabels?: Record<string, string>;
      matchExpressions?: { key: string; values: string[] }[];
    }) =>
      Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
      (selector.matchExpressions ?? []).every(({ key, values }) => values.includes(labels[key] ?? ''));
    interface Policy {
      podSelector: object;
      ingress: { from: { podSelector?: object }[] }[];
    }
    for (const { kind, spec, metadata } of objects) {
      const { selector } = (spec ?? {}) as { selector?: object };
      if (kind === 'Service')
        expect(selects({ matchLabels: selector as Record<string, string> })).toBe(false);
      else if (selector !== undefined) expect(selects(selector), `${kind} ${metadata.name}`).toBe(false);
    }
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
    expect(policies).toHaveLength(3);
    for (const { spec } of policies) {
      const [rule] = (spec as Policy).ingress;
      expect(selects(rule?.from[0]?.podSelector ?? {})).toBe(true);
    }
    const own = policies.filter(({ spec }) => selects((spec as Policy).podSelector));
    expect(own.map(({ metadata }) => metadata.name)).toEqual([resource.metadata.name]);
  });

  test('keeps other sizes of a component when it sets one', () => {
    const { job, template } = jobOf('minimal', { memory: '4Gi' });
    const { requests, limits } = template.spec?.containers[0]?.resources ?? {};
    expect(podOf(job).spec.containers[0]).toMatchObject({
      resources: { requests: { ...requests, memory: '4Gi' }, limits: { ...limits, memory: '4Gi' } },
    });
  });
});
