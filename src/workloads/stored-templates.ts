import {
  type SettingsOfComponents,
  settingsOfComponentsSchema,
} from '../contract/resource/component-settings.ts';
import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { ANNOTATIONS, LABELS } from '../contract/resource/names.ts';
import { runSettingsSchema } from '../contract/resource/run-settings-fields.ts';
import { canonicalJson, contentHash } from '../domain/core/hash.ts';
import { APP_CONTAINER_NAME } from '../domain/deployment/reserved.ts';
import { type RunSettings, runSettingsOf } from '../domain/run-settings/run-settings.ts';
import { settingsOfCommandComponents } from './component-settings.ts';
import { DATA_SERVICE_NAMES, type DataServiceName, servicesLacking } from './data-services.ts';
import type { KubeObject, PodTemplates } from './desired-object.ts';
import { INPUTS_HASH_LABEL, metadata, revisionLabels, TEMPLATE_HASH_LABEL } from './labels.ts';
import { storedTemplatesName } from './names.ts';
import { ownerReferences, ownsData } from './owner.ts';
import { requestedPodsHash, templateInputsHash, writtenInputsHash } from './template-inputs.ts';

/** The image of the app containers of stored templates, and how it was resolved. */
export interface StoredImage {
  /** The image of the revision. */
  readonly given: string;
  /** The image of the containers: pinned to its digest, if it was resolved. */
  readonly used: string;
  /** Why the image could not be resolved. Absent: the image was resolved, or no resolution was requested. */
  readonly unresolved?: string;
}

/** The content of a ControllerRevision with stored templates. */
export interface StoredTemplates {
  /** Name of the ControllerRevision. */
  readonly name: string;
  readonly revisionNumber: number;
  /** The revision in the label, which is the id in the hub, or the number for a resource applied by hand. */
  readonly revisionId: string;
  /** `templateInputsHash` of the rendered resource. */
  readonly inputsHash: string;
  readonly templates: PodTemplates;
  /** null: the templates have no app container. */
  readonly image: StoredImage | null;
  /** The run settings of the revision, also those of components that it does not have. */
  readonly settings: RunSettings;
  /** The pod settings of the components that its commands create. */
  readonly componentSettings: SettingsOfComponents;
  /** The data services that its pods do not have at all: neither from Berth nor from the tenant. */
  readonly lacking: readonly DataServiceName[];
}

/**
 * The ControllerRevision with the rendered templates of the desired revision, for rollouts and rollbacks. The object is
 * immutable, so another rendering of the same revision is another attempt. The ControllerRevision has no owner (unless
 * volumePolicy is Delete), so that it outlives an accidental deletion of the custom resource. The stored templates
 * contain no secret values. The ControllerRevision records the revision that was active when it was created. If the
 * custom resource and its status are lost, a failed rollout returns to this revision.
 * @param attempt 1 for the first rendering of the revision, then 2, 3 …
 * @param image image of the templates. Absent: the image of the revision
 */
export function storedTemplates(
  resource: ManagedDeployment,
  templates: PodTemplates,
  attempt: number,
  image?: StoredImage,
): KubeObject {
  const settings = runSettingsOf(resource.spec.podTemplate);
  const lacking = servicesLacking(resource.spec);
  const inputs = {
    askedPods: requestedPodsHash(resource),
    inputsHash: templateInputsHash(resource),
    writtenInputsHash: writtenInputsHash(resource),
  };
  const { componentSettings = {} } = settingsOfCommandComponents(resource);
  return controllerRevision(resource, attempt, inputs, {
    templates,
    image,
    settings,
    componentSettings,
    lacking,
  });
}

/** Hashes of the inputs of templates. */
interface Inputs {
  readonly askedPods?: string;
  readonly inputsHash: string;
  readonly writtenInputsHash: string;
}

interface Content {
  readonly templates: PodTemplates;
  readonly image: StoredImage | null | undefined;
  readonly settings: RunSettings;
  readonly componentSettings: SettingsOfComponents;
  readonly lacking: readonly DataServiceName[];
}

/** Stored templates of which a copy is stored. */
interface CopiedTemplates extends Inputs {
  image(): StoredImage | null;
  settings(): RunSettings;
  componentSettings(): SettingsOfComponents;
  lacking(): readonly DataServiceName[];
}

/**
 * The ControllerRevision with other templates for the same revision and inputs: values of referenced Secrets have changed.
 * @param resource the resource as of the revision of the stored templates
 */
export function storedCopy(
  resource: ManagedDeployment,
  from: CopiedTemplates,
  templates: PodTemplates,
  attempt: number,
): KubeObject {
  return controllerRevision(resource, attempt, from, {
    templates,
    image: from.image(),
    settings: from.settings(),
    componentSettings: from.componentSettings(),
    lacking: from.lacking(),
  });
}

function controllerRevision(
  resource: ManagedDeployment,
  attempt: number,
  { askedPods, inputsHash, writtenInputsHash }: Inputs,
  { templates, image, settings, componentSettings, lacking }: Content,
): KubeObject {
  const active = resource.status?.activeRevision;
  const base = metadata(resource, storedTemplatesName(resource, attempt), 'app');
  const present = (value: object) => Object.keys(value).length > 0;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      ...base,
      labels: {
        ...base.labels,
        ...revisionLabels(resource),
        [INPUTS_HASH_LABEL]: writtenInputsHash,
      },
      annotations: {
        ...(askedPods === undefined ? {} : { [ANNOTATIONS.askedPods]: askedPods }),
        [ANNOTATIONS.templateInputs]: inputsHash,
        ...(active === undefined ? {} : { [ANNOTATIONS.formerRevision]: canonicalJson(active) }),
      },
      ...(ownsData(resource) ? ownerReferences(resource) : {}),
    },
    revision: resource.spec.revision.number,
    data: {
      templates,
      ...(image == null ? {} : { image }),
      ...(present(settings) ? { settings } : {}),
      ...(present(componentSettings) ? { componentSettings } : {}),
      ...(lacking.length === 0 ? {} : { lacking }),
    },
  };
}

/**
 * Labels the templates with their hash, so that pods show which template they come from. After a change in place, old
 * and new pods have the same revision, but a failure of an old pod is not a failure of a new pod. Templates with equal
 * content have an equal label, so unchanged pods do not restart.
 */
export function markTemplates(templates: PodTemplates): PodTemplates {
  return Object.fromEntries(
    Object.entries(templates).map(([component, template]) => {
      const { metadata: meta, ...rest } = template;
      const { [TEMPLATE_HASH_LABEL]: _, ...unmarked } = meta?.labels ?? {};
      const content =
        meta?.labels?.[TEMPLATE_HASH_LABEL] === undefined
          ? template
          : { ...rest, metadata: { ...meta, labels: unmarked } };
      const labels = { ...unmarked, [TEMPLATE_HASH_LABEL]: contentHash(content) };
      return [component, { metadata: { ...meta, labels }, ...rest }];
    }),
  );
}

/** The fields of a ControllerRevision that are read. */
export interface ReadControllerRevision {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly revision?: number;
  readonly data?: unknown;
}

/** The hash of the inputs. The label alone: an earlier version recorded it. undefined: these are no stored templates. */
export function recordedInputsHash(metadata: ReadControllerRevision['metadata']): string | undefined {
  const label = metadata?.labels?.[INPUTS_HASH_LABEL];
  return label === undefined ? undefined : (metadata?.annotations?.[ANNOTATIONS.templateInputs] ?? label);
}

/** Settings that another writer has edited count as unset. */
const SETTINGS = runSettingsSchema.catch({});
const COMPONENT_SETTINGS = settingsOfComponentsSchema.catch({});

/** Parses a ControllerRevision of `storedTemplates`. null: Berth did not create it. */
export function parseStoredTemplates(object: ReadControllerRevision): StoredTemplates | null {
  const name = object.metadata?.name;
  const revisionId = object.metadata?.labels?.[LABELS.revisionId];
  const inputsHash = recordedInputsHash(object.metadata);
  const {
    templates,
    image,
    settings = {},
    componentSettings = {},
    lacking,
  } = (object.data ?? {}) as {
    templates?: PodTemplates;
    image?: unknown;
    settings?: unknown;
    componentSettings?: unknown;
    lacking?: unknown;
  };
  if (name === undefined || revisionId === undefined || inputsHash === undefined) return null;
  if (object.revision === undefined || templates === undefined) return null;
  const revisionNumber = object.revision;
  return {
    name,
    revisionNumber,
    revisionId,
    inputsHash,
    templates,
    image: readImage(image, templates),
    settings: SETTINGS.parse(settings),
    componentSettings: COMPONENT_SETTINGS.parse(componentSettings),
    lacking: DATA_SERVICE_NAMES.filter((service) => Array.isArray(lacking) && lacking.includes(service)),
  };
}

/** The stored image, otherwise the image of the containers, because earlier versions did not resolve images. */
function readImage(said: unknown, templates: PodTemplates): StoredImage | null {
  const { given, used, unresolved } = (said ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof given === 'string' && typeof used === 'string') {
    return { given, used, ...(typeof unresolved === 'string' ? { unresolved } : {}) };
  }
  const containers = Object.values(templates).flatMap((template) => template.spec?.containers ?? []);
  const image = containers.find(({ name }) => name === APP_CONTAINER_NAME)?.image;
  return image === undefined ? null : { given: image, used: image };
}
