import { describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { LABELS } from '../../../src/contract/resource/names.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import {
  markTemplates,
  parseStoredTemplates,
  recordedInputsHash,
  storedCopy,
  storedTemplates,
} from '../../../src/workloads/stored-templates.ts';
import {
  isTemplateInputsHash,
  templateInputsHash,
  writtenInputsHash,
} from '../../../src/workloads/template-inputs.ts';
import { fullResourceSpec } from '../../arbitraries/full-resource-spec.ts';
import { minimalRequest, resourceOf, SELF_HOSTED } from './render-request.ts';

const request = { ...minimalRequest(fullResourceSpec), secrets: [{ name: 'KEY', value: 'hidden value' }] };
const resource = resourceOf(request, SELF_HOSTED);
const templates = renderTemplates(resource, SELF_HOSTED);

describe('stored templates', () => {
  test('are read as they were written, byte for byte', () => {
    const stored = storedTemplates(resource, templates, 1);
    const read = parseStoredTemplates(JSON.parse(JSON.stringify(stored)));
    expect(read).toEqual({
      name: 'demo-000000d1-1',
      revisionNumber: 1,
      revisionId: resource.spec.revision.id,
      inputsHash: templateInputsHash(resource),
      templates,
      image: { given: resource.spec.revision.image, used: resource.spec.revision.image },
      settings: {},
      componentSettings: {},
      lacking: [],
    });
    expect(JSON.stringify(read?.templates)).toBe(JSON.stringify(templates));
  });

  test('record the data services that the pods lack, and nothing if there are none', () => {
    const { database, cache } = resource.spec;
    const off = {
      database: { ...database, enabled: false },
      cache: { ...cache, enabled: false, external: true },
    };
    const stored = storedTemplates({ ...resource, spec: { ...resource.spec, ...off } }, templates, 1);
    expect(parseStoredTemplates(JSON.parse(JSON.stringify(stored)))?.lacking).toEqual(['database']);
    const { data } = stored as unknown as { data: object };
    const edited = { ...stored, data: { ...data, lacking: 'database' } };
    expect(parseStoredTemplates(edited)?.lacking).toEqual([]);
    expect(storedTemplates(resource, templates, 1)['data']).not.toHaveProperty('lacking');
  });

  test('record the run settings only when the revision has any, so that other objects stay as they are', () => {
    const settings = { port: 80, commands: { queue: { args: ['work'] } }, env: [{ name: 'A', value: '1' }] };
    const set = { ...resource, spec: { ...resource.spec, podTemplate: settings } };
    const stored = storedTemplates(set, templates, 1);
    expect(parseStoredTemplates(JSON.parse(JSON.stringify(stored)))?.settings).toEqual(settings);
    expect(storedTemplates(resource, templates, 1)['data']).not.toHaveProperty('settings');
    const edited = { ...stored, data: { ...(stored['data'] as object), settings: { port: 'x' } } };
    expect(parseStoredTemplates(edited)?.settings).toEqual({});
  });

  test('record the pod settings of a component only when the component exists because of a command', () => {
    const gpu = { resource: 'example.com/gpu', count: 1 };
    const queue = { scale: { min: 1, max: 1 }, gpu };
    const withQueue = (more: { byCommand?: true }) => {
      const components = { ...resource.spec.components, queue: { ...queue, ...more } };
      return storedTemplates({ ...resource, spec: { ...resource.spec, components } }, templates, 1);
    };
    expect(withQueue({})['data']).not.toHaveProperty('componentSettings');
    const stored = JSON.parse(JSON.stringify(withQueue({ byCommand: true })));
    expect(parseStoredTemplates(stored)?.componentSettings).toEqual({ queue: { gpu } });
    const edited = { ...stored, data: { ...stored.data, componentSettings: { queue: { gpu: 1 } } } };
    expect(parseStoredTemplates(edited)?.componentSettings).toEqual({});
  });

  test('are copied with other templates, and with the inputs of the original although the spec has changed', () => {
    const settings = { port: 80 };
    const original = storedTemplates(resource, markTemplates(templates), 1);
    const read = parseStoredTemplates(JSON.parse(JSON.stringify(original)));
    const from = {
      inputsHash: templateInputsHash(resource),
      writtenInputsHash: writtenInputsHash(resource),
      image: () => read?.image ?? null,
      settings: () => settings,
      componentSettings: () => ({}),
      lacking: () => ['cache'] as const,
    };
    const changed = { ...resource, spec: { ...resource.spec, podTemplate: { labels: { other: 'x' } } } };
    const again = markTemplates(markTemplates(templates));
    expect(again).toEqual(markTemplates(templates));
    const copy = JSON.parse(JSON.stringify(storedCopy(changed, from, again, 2)));
    expect(parseStoredTemplates(copy)).toEqual({
      ...read,
      name: 'demo-000000d1-1-2',
      settings,
      lacking: ['cache'],
    });
    expect(copy.metadata.labels).toEqual(original.metadata.labels);
  });

  test('have labels, no owner and no secret value', () => {
    const { metadata, ...rest } = storedTemplates(resource, templates, 1);
    expect(metadata).not.toHaveProperty('ownerReferences');
    expect(metadata.labels[LABELS.deploymentId]).toBe(resource.spec.deploymentId);
    expect(JSON.stringify(rest)).not.toContain('hidden value');
  });

  test('have another name for a later attempt', () => {
    expect(storedTemplates(resource, templates, 3).metadata.name).toBe('demo-000000d1-1-3');
  });

  test.each([
    ['one without metadata', {}],
    [
      'one without a hash',
      { metadata: { name: 'x', labels: { [LABELS.revisionId]: 'r' } }, revision: 1, data: { templates } },
    ],
    ['one of a StatefulSet', { metadata: { name: 'x', labels: {} }, revision: 1, data: { spec: {} } }],
  ])('are not read from another ControllerRevision: %s', (_, object) => {
    expect(parseStoredTemplates(object)).toBeNull();
  });
});

test('records the hash as written in the label, for the previous version, and the normal form in an annotation', () => {
  const { components } = resource.spec;
  const spelled = {
    ...resource,
    spec: {
      ...resource.spec,
      components: { api: { ...components.api, resources: { requests: { memory: '1024Mi' } } } },
    },
  } as ManagedDeployment;
  const { metadata } = storedTemplates(spelled, {}, 1);
  const recorded = metadata.labels?.['berth.dev/inputs-hash'] ?? '';
  expect(recorded).not.toBe(templateInputsHash(spelled));
  expect(isTemplateInputsHash(spelled, recorded)).toBe(true);
  expect(recordedInputsHash(metadata)).toBe(templateInputsHash(spelled));
  expect(recordedInputsHash({ labels: { 'berth.dev/inputs-hash': 'of-an-earlier-version' } })).toBe(
    'of-an-earlier-version',
  );
  expect(recordedInputsHash({ annotations: metadata.annotations ?? {} })).toBeUndefined();
});

describe('templateInputsHash', () => {
  type Spec = ManagedDeployment['spec'];
  const hashOf = (change: (spec: Spec) => Partial<Spec>) =>
    templateInputsHash({ ...resource, spec: { ...resource.spec, ...change(resource.spec) } });
  const scale = { min: 5, max: 9 };

  test.each<[string, (spec: Spec) => Partial<Spec>]>([
    ['the generation', () => ({ recordGeneration: 7 })],
    ['the suspension', () => ({ suspend: true })],
    [
      'the scales',
      ({ components }) => ({ components: { ...components, api: { ...components.api, scale } } }),
    ],
    ['the URL', () => ({ routing: { url: 'https://other.example.com' } })],
    [
      "the database's size",
      ({ database }) => ({ database: { ...database, storage: '99Gi', maxConnections: 999 } }),
    ],
    ["the cache's size", ({ cache }) => ({ cache: { ...cache, maxMemoryMb: 999 } })],
    ['services that are enabled by name', ({ database }) => ({ database: { ...database, enabled: true } })],
  ])('does not depend on %s, so that a change restarts nothing', (_, change) => {
    expect(hashOf(change)).toBe(templateInputsHash(resource));
  });

  test.each<[string, (spec: Spec) => Partial<Spec>]>([
    ['the image', ({ revision }) => ({ revision: { ...revision, image: 'other' } })],
    ['the env Secret', ({ revision }) => ({ revision: { ...revision, envSecretName: 'other' } })],
    [
      'resources',
      ({ components }) => ({ components: { ...components, api: { ...components.api, resources: {} } } }),
    ],
    ['a component', ({ components: { queue: _queue, ...rest } }) => ({ components: rest })],
    ['the pool size', ({ database }) => ({ database: { ...database, poolSize: 1 } })],
    ['an external database', ({ database }) => ({ database: { ...database, external: true } })],
    ['a database that is switched off', ({ database }) => ({ database: { ...database, enabled: false } })],
    ['a cache that is switched off', ({ cache }) => ({ cache: { ...cache, enabled: false } })],
    ['labels', ({ podTemplate }) => ({ podTemplate: { ...podTemplate, labels: { other: 'x' } } })],
    ['tracing', () => ({ tracing: { project: 'other' } })],
  ])('depends on %s', (_, change) => {
    expect(hashOf(change)).not.toBe(templateInputsHash(resource));
  });
});
