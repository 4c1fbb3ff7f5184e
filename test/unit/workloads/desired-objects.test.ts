import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { canonicalJson } from '../../../src/domain/core/hash.ts';
import type { ResourceSpec } from '../../../src/domain/resource-spec/resource-spec.ts';
import type { RunSettings } from '../../../src/domain/run-settings/run-settings.ts';
import type { DesiredObject } from '../../../src/workloads/desired-object.ts';
import { desiredObjects } from '../../../src/workloads/desired-objects.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { templateInputsHash } from '../../../src/workloads/template-inputs.ts';
import { validResourceSpec } from '../../arbitraries/resource-spec.ts';
import { validRunSettings } from '../../arbitraries/run-settings.ts';
import { CLOUD, minimalRequest, render, resourceOf, SELF_HOSTED } from './render-request.ts';

const RUNS = { numRuns: 40 };

const titles = (objects: readonly DesiredObject[]) =>
  objects.map(({ object }) => `${object.kind} ${object.metadata.name}`);

function find(objects: readonly DesiredObject[], title: string): DesiredObject {
  const found = objects[titles(objects).indexOf(title)];
  if (found === undefined) throw new Error(`no ${title} among ${titles(objects).join(', ')}`);
  return found;
}

/** The same value with every object's keys in the opposite order. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) return value.map(reversed) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)])) as T;
}

const rendered = (spec: ResourceSpec, config = SELF_HOSTED, settings: RunSettings = {}) =>
  render(withSettings(spec, settings), config);

const withSettings = (spec: ResourceSpec, settings: RunSettings) => {
  const request = minimalRequest(spec);
  return { ...request, source_revision_config: { ...request.source_revision_config, ...settings } };
};

describe('the desired objects of every valid spec', () => {
  test('are the same after a change to another spec and back', () => {
    const spec = validResourceSpec();
    fc.assert(
      fc.property(spec, spec, validRunSettings, validRunSettings, (a, b, withA, withB) => {
        const before = canonicalJson(rendered(a, SELF_HOSTED, withA).objects);
        rendered(b, SELF_HOSTED, withB);
        expect(canonicalJson(rendered(a, SELF_HOSTED, withA).objects)).toBe(before);
      }),
      RUNS,
    );
  });

  test('do not depend on the order of keys', () => {
    fc.assert(
      fc.property(validResourceSpec(), validRunSettings, (spec, settings) => {
        const resource = resourceOf(withSettings(spec, settings), SELF_HOSTED);
        const turned = reversed(resource);
        const templates = renderTemplates(resource, SELF_HOSTED);
        expect(desiredObjects(turned, reversed(SELF_HOSTED), { templates: reversed(templates) })).toEqual(
          desiredObjects(resource, SELF_HOSTED, { templates }),
        );
        expect(templateInputsHash(turned)).toBe(templateInputsHash(resource));
      }),
      RUNS,
    );
  });

  test('have equal templates exactly when the hashes of their inputs are equal', () => {
    const spec = validResourceSpec();
    fc.assert(
      fc.property(spec, fc.oneof(spec, fc.constant(null)), validRunSettings, (a, other, settings) => {
        const b = other ?? {
          ...a,
          min_scale: 1,
          db_storage_gi: 99,
          db_memory_mb: null,
          db_memory_limit_mb: null,
        };
        const [first, second] = [rendered(a), rendered(b, SELF_HOSTED, other === null ? {} : settings)];
        const sameInputs = templateInputsHash(first.resource) === templateInputsHash(second.resource);
        const sameTemplates = canonicalJson(first.templates) === canonicalJson(second.templates);
        expect(sameTemplates).toBe(sameInputs);
      }),
      RUNS,
    );
  });

  test('are complete, distinct and labeled, without status and without spec.replicas', () => {
    fc.assert(
      fc.property(validResourceSpec({ podSecurity: 'restricted' }), (spec) => {
        const { resource, objects } = rendered(spec, CLOUD);
        expect(new Set(titles(objects)).size).toBe(objects.length);
        for (const { object, owned } of objects) {
          expect(object.metadata.name.length).toBeLessThanOrEqual(63);
          expect(object.metadata.namespace).toBe(resource.metadata.namespace);
          expect(object.metadata.labels).toMatchObject({
            [LABELS.deploymentId]: resource.spec.deploymentId,
            [LABELS.tenantId]: resource.spec.tenantId,
            [LABELS.managedBy]: 'berth',
          });
          expect(object).not.toHaveProperty('status');
          expect(object.spec ?? {}).not.toHaveProperty('replicas');
          expect(object.metadata.ownerReferences?.[0]?.uid).toBe(owned ? resource.metadata.uid : undefined);
        }
      }),
      RUNS,
    );
  });

  test('have the labels of the user on app pods, and never on data services', () => {
    fc.assert(
      fc.property(validResourceSpec(), (spec) => {
        const marked = { ...spec, labels: { ...spec.labels, team: 'payments' } };
        const carrying = rendered(marked).objects.filter(({ object }) => object.metadata.labels['team']);
        expect(
          carrying.every(
            ({ object, afterDataServices }) => object.kind === 'Deployment' && afterDataServices,
          ),
        ).toBe(true);
      }),
      RUNS,
    );
  });
});

describe('the order of creation', () => {
  test('is data services, then components with their budgets and autoscalers, then the route', () => {
    const request = {
      ...minimalRequest({ min_scale: 2, max_scale: 4, queue_cpu: 1 }),
      source_config: {
        custom_url: 'https://demo.example.com',
        resource_spec: { min_scale: 2, max_scale: 4, queue_cpu: 1, queue_min_scale: 1, queue_max_scale: 1 },
      },
    };
    const { objects } = render(request, SELF_HOSTED);
    expect(titles(objects).map((title) => title.replace('demo-000000d1', '*'))).toEqual([
      'ServiceAccount *',
      'NetworkPolicy *-db',
      'Secret *-db',
      'PersistentVolumeClaim *-db',
      'Service *-db',
      'StatefulSet *-db',
      'NetworkPolicy *-cache',
      'Service *-cache',
      'Deployment *-cache',
      'Service *',
      'Deployment *-api',
      'PodDisruptionBudget *-api',
      'HorizontalPodAutoscaler *-api',
      'Deployment *-queue',
      'Ingress *',
    ]);
    const first = objects.findIndex(({ afterDataServices }) => afterDataServices);
    expect(objects[first]?.object.metadata.name).toBe('demo-000000d1-api');
    expect(objects.slice(first).every(({ afterDataServices }) => afterDataServices)).toBe(true);
  });

  test('contains only data services and addresses when there are no templates', () => {
    const resource = resourceOf(minimalRequest(), SELF_HOSTED);
    const objects = desiredObjects(resource, SELF_HOSTED, { templates: null });
    expect(objects.some(({ afterDataServices }) => afterDataServices)).toBe(false);
    expect(titles(objects)).toContain('StatefulSet demo-000000d1-db');
    expect(titles(objects)).toContain('Service demo-000000d1');
  });
});

describe('templates of an earlier revision', () => {
  function withRevision(resource: ManagedDeployment, number: number, image: string): ManagedDeployment {
    return { ...resource, spec: { ...resource.spec, revision: { id: `r${number}`, number, image } } };
  }
  const base = resourceOf(minimalRequest({ queue_cpu: 1 }), SELF_HOSTED);
  const first = renderTemplates(withRevision(base, 1, 'registry.example.com/demo:one'), SELF_HOSTED);
  const second = withRevision(base, 2, 'registry.example.com/demo:two');

  test('decide the labels of their Deployments', () => {
    const objects = desiredObjects(second, SELF_HOSTED, { templates: first });
    const { object } = find(objects, 'Deployment demo-000000d1-api');
    expect(object.metadata.labels).toMatchObject({ [LABELS.version]: 'one', [LABELS.revisionId]: 'r1' });
    expect(object.spec).toMatchObject({ template: first.api });
  });

  test('decide which components exist, while the spec decides the number of pods', () => {
    const { queue: _, ...components } = second.spec.components;
    const without = {
      ...second,
      spec: { ...second.spec, components: { ...components, executor: components.api } },
    };
    const objects = desiredObjects(without, SELF_HOSTED, { templates: first });
    expect(find(objects, 'Deployment demo-000000d1-queue').replicas).toEqual({ kind: 'fixed', count: 1 });
    expect(titles(objects)).not.toContain('Deployment demo-000000d1-executor');
  });

  test('keep the ServiceAccount that they run as', () => {
    const named = { ...second.spec, podTemplate: { serviceAccountName: 'named' } };
    const resource = { ...second, spec: named };
    const stored = desiredObjects(resource, SELF_HOSTED, { templates: first });
    expect(titles(stored)).toContain('ServiceAccount demo-000000d1');
    const own = desiredObjects(resource, SELF_HOSTED, { templates: renderTemplates(resource, SELF_HOSTED) });
    expect(titles(own)).not.toContain('ServiceAccount demo-000000d1');
  });
});

describe('an upgrade of the operator', () => {
  const resource = resourceOf(minimalRequest(), SELF_HOSTED);
  const upgraded = {
    ...SELF_HOSTED,
    databaseImage: 'postgres:99',
    cacheImage: 'valkey:99',
    healthPath: '/new',
  };

  test('keeps recorded and running images', () => {
    const context = { templates: null, databaseImage: 'postgres:18', cacheImage: 'valkey:9' };
    const objects = desiredObjects(resource, upgraded, context);
    const image = (title: string) => {
      const { template } = find(objects, title).object.spec as { template: V1PodTemplateSpec };
      return template.spec?.containers[0]?.image;
    };
    expect(image('StatefulSet demo-000000d1-db')).toBe('postgres:18');
    expect(image('Deployment demo-000000d1-cache')).toBe('valkey:9');
  });

  test('keeps the Deployments of stored templates', () => {
    const templates = renderTemplates(resource, SELF_HOSTED);
    const before = find(desiredObjects(resource, SELF_HOSTED, { templates }), 'Deployment demo-000000d1-api');
    const after = find(desiredObjects(resource, upgraded, { templates }), 'Deployment demo-000000d1-api');
    expect(after).toEqual(before);
  });
});

describe('resources without a record', () => {
  const resource: ManagedDeployment = {
    ...resourceOf(minimalRequest(), SELF_HOSTED),
    spec: { ...resourceOf(minimalRequest(), SELF_HOSTED).spec, deploymentId: undefined, tenantId: undefined },
  };

  test('are labeled with their uid', () => {
    for (const { object } of desiredObjects(resource, SELF_HOSTED, { templates: null })) {
      expect(object.metadata.labels[LABELS.deploymentId]).toBe(resource.metadata.uid);
      expect(object.metadata.labels).not.toHaveProperty(LABELS.tenantId);
    }
  });

  test('own their volume and credentials when volumePolicy is Delete', () => {
    const { database } = resource.spec;
    const deleting = {
      ...resource,
      spec: { ...resource.spec, database: { ...database, volumePolicy: 'Delete' as const } },
    };
    for (const { object, owned } of desiredObjects(deleting, SELF_HOSTED, { templates: null })) {
      expect(owned, object.kind).toBe(true);
      expect(object.metadata.ownerReferences).toHaveLength(1);
    }
  });
});

test('renders cores finer than a millicore as the API server stores them', () => {
  const base = resourceOf(minimalRequest({}), SELF_HOSTED);
  const fine = { requests: { cpu: '0.30000000000000004' }, limits: { cpu: '0.5005', memory: '1Gi' } };
  const resource: ManagedDeployment = {
    ...base,
    spec: {
      ...base.spec,
      components: { api: { scale: { min: 1, max: 1 }, resources: fine } },
      database: { ...base.spec.database, resources: fine },
      cache: { ...base.spec.cache, resources: fine },
    },
  };
  const templates = renderTemplates(resource, SELF_HOSTED);
  const written = JSON.stringify({
    templates,
    objects: desiredObjects(resource, SELF_HOSTED, { templates }),
  });
  const found = written.match(
    /"resources":\{"requests":\{"cpu":"300m","ephem[^}]*\},"limits":\{"cpu":"501m","memory":"1Gi","ephem[^}]*\}\}/g,
  );
  expect(found?.length).toBeGreaterThanOrEqual(3);
  expect(written).not.toMatch(/0\.3000|0\.5005/);
});

test('uses the ServiceAccount of the app for a blank name, as for an absent one', () => {
  const base = resourceOf(minimalRequest({}), SELF_HOSTED);
  const named = (serviceAccountName: string): ManagedDeployment => ({
    ...base,
    spec: { ...base.spec, podTemplate: { ...base.spec.podTemplate, serviceAccountName } },
  });
  const blank = named('');
  const templates = renderTemplates(blank, SELF_HOSTED);
  expect(templates).toEqual(renderTemplates(base, SELF_HOSTED));
  const account = `ServiceAccount ${base.metadata.name}`;
  expect(titles(desiredObjects(blank, SELF_HOSTED, { templates: null }))).toContain(account);
  const other = desiredObjects(named('other'), SELF_HOSTED, { templates: null });
  expect(titles(other)).not.toContain(account);
});
