import { describe, expect, test } from 'vitest';
import type { ManagedDeployment } from '../../../src/contract/resource/managed-deployment.ts';
import { pullSecretName } from '../../../src/contract/resource/names.ts';
import { type RunSettings, runSettingsOf } from '../../../src/domain/run-settings/run-settings.ts';
import { asOfRevision } from '../../../src/workloads/as-of-revision.ts';
import { renderTemplates } from '../../../src/workloads/objects/pod-template.ts';
import { parseStoredTemplates, storedTemplates } from '../../../src/workloads/stored-templates.ts';
import { templateInputsHash } from '../../../src/workloads/template-inputs.ts';
import { fullResourceSpec } from '../../arbitraries/full-resource-spec.ts';
import { withSettings as withPodSettings } from './pod-settings-cases.ts';
import { CLOUD, minimalRequest, resourceOf, SELF_HOSTED } from './render-request.ts';

const FULL = minimalRequest(fullResourceSpec);
const of = (...names: string[]) => ({ ...FULL, secrets: names.map((name) => ({ name, value: 'v' })) });

/** With the Secret that the image of the deployment's own repository is pulled with. */
function pulled(resource: ManagedDeployment): ManagedDeployment {
  const { podTemplate } = resource.spec;
  const own = { name: pullSecretName(resource.metadata.name) };
  const imagePullSecrets = [...(podTemplate.imagePullSecrets ?? []), own];
  return { ...resource, spec: { ...resource.spec, podTemplate: { ...podTemplate, imagePullSecrets } } };
}

const withSettings = (settings: RunSettings, spec: object = {}) => {
  const request = minimalRequest(spec);
  const source_revision_config = { ...request.source_revision_config, ...settings };
  return resourceOf({ ...request, source_revision_config }, SELF_HOSTED);
};

const CASES: Record<string, ManagedDeployment> = {
  'a port and variables of its own': withSettings({
    port: 80,
    env: [{ name: 'OTEL_SERVICE_NAME', value: 'x' }],
  }),
  'an external database in env': withSettings({
    env: [{ name: 'DATABASE_URI_CUSTOM', value: 'postgresql://x' }],
  }),
  'commands of all components': withSettings({
    commands: { api: { args: ['a'] }, queue: { args: ['q'] }, executor: { command: ['e'] } },
  }),
  'no secrets': resourceOf(minimalRequest(), SELF_HOSTED),
  'every field': resourceOf(of('KEY'), SELF_HOSTED),
  'an external database': resourceOf(of('DATABASE_URI_CUSTOM'), SELF_HOSTED),
  'an external cache': resourceOf(of('CACHE_URI_CUSTOM', 'KEY'), SELF_HOSTED),
  'tracing variables of its own': resourceOf(of('OTEL_SERVICE_NAME', 'OTEL_EXPORTER_OTLP_HEADERS'), CLOUD),
  'an image of its own repository': pulled(resourceOf(of('KEY'), CLOUD)),
};
/** The components of the current spec, of which those of commands follow the commands of the desired revision. */
function componentsFor(before: ManagedDeployment, after: ManagedDeployment) {
  const kept = Object.entries(before.spec.components).filter(
    ([, component]) => component?.byCommand !== true,
  );
  const created = Object.entries(after.spec.components).filter(
    ([, component]) => component?.byCommand === true,
  );
  return Object.fromEntries([...created, ...kept]) as ManagedDeployment['spec']['components'];
}

const CONFIG = { ...CLOUD, otlpEndpoint: 'http://collector:4318', otlpHeadersSecret: 'headers' };

interface Switched {
  readonly enabled?: boolean;
  readonly external?: boolean;
}

describe('a resource as of a revision', () => {
  test.each(Object.keys(CASES))('has the inputs that its templates were rendered from: %s', (name) => {
    const before = CASES[name] as ManagedDeployment;
    const templates = renderTemplates(before, CONFIG);
    for (const after of Object.values(CASES)) {
      const revision = { ...after.spec.revision, id: 'later', number: 9, image: 'registry.test/later:9' };
      // Everything outside the revision is the same.
      const podTemplate = {
        ...before.spec.podTemplate,
        imagePullSecrets: [
          ...(before.spec.podTemplate.imagePullSecrets ?? []).filter(
            ({ name }) => name !== pullSecretName(before.metadata.name),
          ),
          ...(after.spec.podTemplate.imagePullSecrets ?? []).filter(
            ({ name }) => name === pullSecretName(before.metadata.name),
          ),
        ],
      };
      const { database, cache, tracing } = after.spec;
      const { port: _p, commands: _c, env: _e, ...pods } = podTemplate;
      const spec = {
        ...before.spec,
        revision,
        components: componentsFor(before, after),
        podTemplate: { ...pods, ...runSettingsOf(after.spec.podTemplate) },
        database: { ...before.spec.database, external: database.external },
        cache: { ...before.spec.cache, external: cache.external },
        tracing,
      };
      const settings = runSettingsOf(before.spec.podTemplate);
      const seen = asOfRevision({ ...before, spec }, before.spec.revision, { templates, settings });
      expect(templateInputsHash(seen)).toBe(templateInputsHash(before));
    }
  });

  test('has a component of a command only when the revision has the command', () => {
    const worker = withSettings({ commands: { queue: { args: ['work'] } } });
    const plain = withSettings({});
    const seen = (current: ManagedDeployment, former: ManagedDeployment) => {
      const settings = runSettingsOf(former.spec.podTemplate);
      const record = { templates: renderTemplates(former, CONFIG), settings };
      return Object.keys(asOfRevision(current, former.spec.revision, record).spec.components);
    };
    expect(seen(worker, plain)).toEqual(['api']);
    expect(seen(plain, worker)).toEqual(['api', 'queue']);
    // The field of resource_spec is the reason for the queue, not the command.
    expect(seen(withSettings({ commands: { queue: { args: ['x'] } } }, { queue_cpu: 1 }), plain)).toEqual([
      'api',
      'queue',
    ]);
  });

  test('has the pod settings of a component of a command when the current spec lacks the component', () => {
    const request = withPodSettings({
      health_checks: { queue: { type: 'exec', command: ['check'] } },
      placement: { queue: { node_selector: { disk: 'ssd' } } },
      gpu: { queue: { resource: 'example.com/gpu', count: 1 } },
    });
    const [worker, plain] = [{ commands: { queue: { args: ['work'] } } }, {}].map((settings) => {
      const source_revision_config = { ...request.source_revision_config, ...settings };
      return resourceOf({ ...request, source_revision_config }, SELF_HOSTED);
    }) as [ManagedDeployment, ManagedDeployment];
    const templates = renderTemplates(worker, CONFIG);
    const stored = JSON.parse(JSON.stringify(storedTemplates(worker, templates, 1)));
    const { settings = {}, componentSettings = {} } = parseStoredTemplates(stored) ?? {};
    const seen = asOfRevision(plain, worker.spec.revision, { templates, settings, componentSettings });
    expect(plain.spec.components.queue).toBe(undefined);
    expect(renderTemplates(seen, CONFIG)).toEqual(templates);
    expect(templateInputsHash(seen)).toBe(templateInputsHash(worker));
  });

  test.each<[string, Switched, Switched]>([
    ['its own services', {}, {}],
    ['its own services, while the current spec has none', {}, { enabled: false }],
    ['no services', { enabled: false }, { enabled: false }],
    ['no services, while the current spec has them', { enabled: false }, {}],
    ['services of the tenant', { external: true }, { external: true }],
    ['services of the tenant, while the current spec has none', { external: true }, { enabled: false }],
    ['no services, while the current spec has those of the tenant', { enabled: false }, { external: true }],
  ])(
    'has the variables of the tenant from the revision, and the switch from the current spec: %s',
    (_, was, is) => {
      const base = withSettings({});
      const given = (change: Switched) => {
        const { database, cache } = base.spec;
        const revision = { ...base.spec.revision, envSecretName: 'demo-env-1' };
        const services = { database: { ...database, ...change }, cache: { ...cache, ...change } };
        return { ...base, spec: { ...base.spec, revision, ...services } };
      };
      const former = given(was);
      const templates = renderTemplates(former, CONFIG);
      const stored = JSON.parse(JSON.stringify(storedTemplates(former, templates, 1)));
      const { settings = {}, lacking = [] } = parseStoredTemplates(stored) ?? {};
      const seen = asOfRevision(given(is), former.spec.revision, { templates, settings, lacking });
      const { external = false } = was;
      const { enabled } = is;
      for (const service of [seen.spec.database, seen.spec.cache])
        expect({ external: service.external, enabled: service.enabled }).toEqual({ external, enabled });
    },
  );

  test('has the rest of the current spec', () => {
    const before = CASES['every field'] as ManagedDeployment;
    const podTemplate = { ...before.spec.podTemplate, labels: { team: 'other' } };
    const changed = { ...before, spec: { ...before.spec, podTemplate } };
    const record = { templates: renderTemplates(before, CONFIG), settings: {} };
    const seen = asOfRevision(changed, before.spec.revision, record);
    expect(templateInputsHash(seen)).toBe(templateInputsHash(changed));
  });
});
