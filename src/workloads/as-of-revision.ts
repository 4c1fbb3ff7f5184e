import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { SettingsOfComponents } from '../contract/resource/component-settings.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { pullSecretName } from '../contract/resource/names.ts';
import { APP_CONTAINER_NAME, TRACING_ENV_NAMES } from '../domain/deployment/reserved.ts';
import { COMPONENTS, type Component } from '../domain/resource-spec/components.ts';
import { exporterVariables } from '../domain/resource-spec/exporter-variables.ts';
import { type RunSettings, withoutRunSettings } from '../domain/run-settings/run-settings.ts';
import type { DataServiceName } from './data-services.ts';
import type { PodTemplates } from './desired-object.ts';
import { app } from './names.ts';
import { ownServicesOf } from './objects/app-env.ts';

/** The revision to which templates belong. */
interface Identity {
  readonly id?: string | undefined;
  readonly number: number;
}

/** The content of a revision, from its stored templates. */
interface RevisionRecord {
  readonly templates: PodTemplates;
  /** The image as in the revision, whereas the templates may contain its digest. Absent: the image of the templates. */
  readonly image?: string | undefined;
  readonly settings: RunSettings;
  /** Pod settings of the components that its commands create. Absent: none. */
  readonly componentSettings?: SettingsOfComponents;
  /** The data services that its pods do not have at all. Absent: none. */
  readonly lacking?: readonly DataServiceName[];
}

/** The scale of a component that the current spec does not have. Templates do not contain it. */
const ONE_POD = { min: 1, max: 1 };

type Components = ManagedDeployment['spec']['components'];

/** The sizes in a template, without those that Berth adds. */
function sizesOf(template: V1PodTemplateSpec | undefined) {
  const resources = template?.spec?.containers.find(({ name }) => name === APP_CONTAINER_NAME)?.resources;
  const list = ({ cpu, memory }: Record<string, string> = {}) => ({
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
  });
  return { requests: list(resources?.requests), limits: list(resources?.limits) };
}

/** The components of the current spec, with those that the commands of this revision create instead of the current ones. */
function componentsOf(
  components: Components,
  { templates, settings: { commands = {} }, componentSettings = {} }: RevisionRecord,
) {
  const kept = Object.entries(components).filter(
    ([name, component]) => component?.byCommand !== true || commands[name as Component] !== undefined,
  );
  const created = COMPONENTS.filter(
    (name) => components[name] === undefined && commands[name] !== undefined && templates[name] !== undefined,
  ).map((name) => {
    const resources = sizesOf(templates[name]);
    return [name, { scale: ONE_POD, resources, byCommand: true, ...componentSettings[name] }];
  });
  return Object.fromEntries([...kept, ...created]) as Components;
}

/**
 * The resource as if this revision were still the desired revision. Image and secrets are those of the revision, and
 * all other values come from the current spec. The parts of a revision are read from its stored templates: image,
 * environment, run settings, whether database and cache belong to the tenant (not whether they are switched off), the tracing variables of its secrets, and its pull
 * Secret. The resource then renders the templates of the revision with another source_config.
 */
export function asOfRevision<R extends ManagedDeployment>(
  resource: R,
  { id, number }: Identity,
  record: RevisionRecord,
): R {
  const { templates, settings, lacking = [] } = record;
  const pod = Object.values(templates)[0]?.spec;
  const container = pod?.containers.find(({ name }) => name === APP_CONTAINER_NAME);
  const image = record.image ?? container?.image;
  const envSecretName = container?.envFrom?.[0]?.secretRef?.name;
  const own = ownServicesOf(resource, templates);
  const referenced = new Set(settings.secretReferences?.map(({ name }) => name));
  const isExternal = (service: DataServiceName) => !own[service] && !lacking.includes(service);
  const fromSecrets = (container?.env ?? []).flatMap(({ name, valueFrom }) => {
    const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
    const isOfSecrets = key === name && secret !== undefined && secret === envSecretName;
    return isOfSecrets && !referenced.has(name) ? [name] : [];
  });
  const ownVariables = TRACING_ENV_NAMES.filter((variable) => fromSecrets.includes(variable));
  const exporting = exporterVariables(fromSecrets);
  const { spec } = resource;
  const { ownVariables: _, exporterVariables: wanted = [], ...tracing } = spec.tracing;
  // Templates of an earlier version lack this value. For the desired revision, the value is in the spec.
  const isWanted = id === spec.revision.id && number === spec.revision.number;
  const exported = exporting.length === 0 && isWanted ? wanted : exporting;
  const { imagePullSecrets = [], ...podTemplate } = withoutRunSettings(spec.podTemplate);
  const pullSecret = pullSecretName(app(resource));
  const pullSecrets = [
    ...imagePullSecrets.filter(({ name }) => name !== pullSecret),
    ...(pod?.imagePullSecrets?.some(({ name }) => name === pullSecret) ? [{ name: pullSecret }] : []),
  ];
  return {
    ...resource,
    spec: {
      ...spec,
      revision: {
        ...(id === undefined ? {} : { id }),
        number,
        ...(image === undefined ? {} : { image }),
        ...(envSecretName === undefined ? {} : { envSecretName }),
      },
      components: componentsOf(spec.components, record),
      // Whether a service is switched off follows from the current spec, so only the variables of the tenant count here.
      database: { ...spec.database, external: isExternal('database') },
      cache: { ...spec.cache, external: isExternal('cache') },
      podTemplate: {
        ...podTemplate,
        ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
        ...settings,
      },
      tracing: {
        ...tracing,
        ...(ownVariables.length === 0 ? {} : { ownVariables }),
        ...(exported.length === 0 ? {} : { exporterVariables: exported }),
      },
    },
  };
}
