import type { ManagedDeployment } from '../contract/resource/managed-deployment.ts';
import { LABELS, MANAGED_BY } from '../contract/resource/names.ts';
import { contentHash } from '../domain/core/hash.ts';
import type { Component } from '../domain/resource-spec/resource-spec.ts';
import type { KubeMetadata } from './desired-object.ts';
import { app } from './names.ts';

/** Values of `app.kubernetes.io/component`. `app` stands for what the whole app shares (Service, ServiceAccount, …). */
export type LabelledComponent = Component | 'app' | 'database' | 'cache';

/** Label on stored templates: hash of the inputs that they were rendered from. */
export const INPUTS_HASH_LABEL = 'berth.dev/inputs-hash';

/** Label on app pods: hash of the template that they were made from. */
export const TEMPLATE_HASH_LABEL = 'berth.dev/template-hash';

/** `app.kubernetes.io/name` of the data services; app components carry the app's own name. */
const PRODUCTS: Partial<Record<LabelledComponent, string>> = { database: 'postgresql', cache: 'valkey' };

/** The hub's id, or on resources without a record the custom resource's uid. */
export function deploymentId(resource: ManagedDeployment): string {
  return resource.spec.deploymentId ?? resource.metadata.uid ?? resource.metadata.name;
}

/** The value by which selectors and labels know the deployment. One resource of a namespace may use it. */
export function identityValue(resource: ManagedDeployment): string {
  return labelValue(deploymentId(resource));
}

/** The wanted revision's id; its number on resources without a record. */
export function revisionId(resource: ManagedDeployment): string {
  return resource.spec.revision.id ?? String(resource.spec.revision.number);
}

/** Labels that select the pods of one component. Immutable in a Deployment: never add to them. */
export function selectorLabels(
  resource: ManagedDeployment,
  component: LabelledComponent,
): Record<string, string> {
  return {
    [LABELS.deploymentId]: identityValue(resource),
    [LABELS.component]: component,
  };
}

/** Labels of every object. Nothing in them changes with a revision, so an image change rewrites nothing else. */
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

/** Labels that say which revision an app pod, its Deployment or stored templates belong to. */
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

/** The image's tag as a label value, else the first 12 hex digits of its digest, else `latest`. */
export function imageVersion(image: string): string {
  if (image === '') return '';
  const [reference = '', digest] = image.split('@');
  const tag = /:([^:/]+)$/.exec(reference)?.[1];
  if (tag !== undefined) return labelValue(tag);
  return digest === undefined ? 'latest' : (digest.split(':')[1] ?? digest).slice(0, 12);
}

const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;

/** The text itself where it is a valid label value, else a readable start of it with a hash: still one to one. */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text)) return text;
  const readable = text
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 46);
  return `${readable}${readable === '' ? '' : '-'}${contentHash(text)}`;
}
