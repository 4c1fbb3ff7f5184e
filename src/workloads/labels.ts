import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../contract/resource/names.ts';
import { contentHash } from '../domain/core/hash.ts';
import type { Component } from '../domain/resource-spec/components.ts';
import type { KubeMetadata } from './desired-object.ts';
import { app } from './names.ts';

/** Values of `app.kubernetes.io/component`. `app`: objects of the whole app, such as Service and ServiceAccount. */
export type LabelledComponent = Component | 'app' | 'database' | 'cache' | typeof TASK_COMPONENT;

/** Value of `app.kubernetes.io/component` for the Job of a task and its pod. No Service, disruption budget or Deployment selects it. */
export const TASK_COMPONENT = 'task';

/** Label of stored templates: hash of their inputs. */
export const INPUTS_HASH_LABEL = 'berth.dev/inputs-hash';

/** Label of app pods: hash of their template. */
export const TEMPLATE_HASH_LABEL = 'berth.dev/template-hash';

/** `app.kubernetes.io/name` of the data services. For app components, the name is the name of the app. */
const PRODUCTS: Partial<Record<LabelledComponent, string>> = { database: 'postgresql', cache: 'valkey' };

/** The id of the deployment in the hub, or the uid of a resource applied by hand. */
export function deploymentId(resource: ManagedDeployment): string {
  return resource.spec.deploymentId ?? resource.metadata.uid ?? resource.metadata.name;
}

/** The identity of a deployment in selectors and labels. Only one resource of a namespace can use this value. */
export function identityValue(resource: ManagedDeployment): string {
  return labelValue(deploymentId(resource));
}

/** The id of the desired revision, or its number for a resource applied by hand. */
export function revisionId(resource: ManagedDeployment): string {
  return resource.spec.revision.id ?? String(resource.spec.revision.number);
}

/**
 * Labels that select the pods of one component. These labels are immutable in a Deployment, so labels must never be
 * added.
 */
export function selectorLabels(
  resource: ManagedDeployment,
  component: LabelledComponent,
): Record<string, string> {
  return {
    [LABELS.deploymentId]: identityValue(resource),
    [LABELS.component]: component,
  };
}

/**
 * Labels of every object. A new revision does not change these labels, so that a new image does not rewrite other
 * objects.
 */
export function commonLabels(
  resource: ManagedDeployment,
  component: LabelledComponent,
): Record<string, string> {
  const { tenantId } = resource.spec;
  return {
    [LABELS.name]: PRODUCTS[component] ?? labelValue(app(resource)),
    [LABELS.instance]: labelValue(app(resource)),
    [LABELS.partOf]: labelValue(app(resource)),
    [LABELS.managedBy]: MANAGED_BY,
    ...(tenantId === undefined ? {} : { [LABELS.tenantId]: labelValue(tenantId) }),
    ...selectorLabels(resource, component),
  };
}

/** Labels with the revision of an app pod, its Deployment or stored templates. */
export function revisionLabels(resource: ManagedDeployment): Record<string, string> {
  const version = imageVersion(resource.spec.revision.image ?? '');
  return {
    ...(version === '' ? {} : { [LABELS.version]: version }),
    [LABELS.revisionId]: labelValue(revisionId(resource)),
  };
}

/** Metadata of an object with the common labels. */
export function metadata(
  resource: ManagedDeployment,
  name: string,
  component: LabelledComponent,
): KubeMetadata {
  return { name, namespace: resource.metadata.namespace, labels: commonLabels(resource, component) };
}

/** The tag of an image as a label value, otherwise the first 12 hex digits of its digest, otherwise `latest`. */
export function imageVersion(image: string): string {
  if (image === '') return '';
  const [reference = '', digest] = image.split('@');
  const tag = /:([^:/]+)$/.exec(reference)?.[1];
  if (tag !== undefined) return labelValue(tag);
  return digest === undefined ? 'latest' : (digest.split(':')[1] ?? digest).slice(0, 12);
}

const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;

/** The text itself if it is a valid label value, otherwise its readable start with a hash. The mapping is one to one. */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text)) return text;
  const readable = text
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 46);
  return `${readable}${readable === '' ? '' : '-'}${contentHash(text)}`;
}
