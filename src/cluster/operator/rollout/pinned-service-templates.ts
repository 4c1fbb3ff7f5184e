import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { canonicalJson, textHash } from '../../../domain/core/hash.ts';
import type { DesiredObject, KubeObject } from '../../../workloads/desired-object.ts';
import { cacheName, databaseName } from '../../../workloads/names.ts';
import { sameMeaning } from '../../../workloads/same-template.ts';
import { dataServiceInputsHashes, isDataServiceInputsHash } from '../../../workloads/template-inputs.ts';
import { boundedCache } from '../observe/bounded-cache.ts';
import { type ChildObject, liveChild, type Observed, type ObservedResource } from '../observed.ts';

/**
 * Keeps the pod templates of database and cache. Like the templates of revisions, these templates are rendered once for
 * their inputs, so that an operator that renders differently restarts neither database nor cache. The rendered template
 * is stored in an annotation of the workload, because it is needed exactly as long as the workload exists.
 */
interface PinnedTemplate {
  /** Hash of `dataServiceInputs` as written. An earlier version recorded that of the normal form. */
  readonly inputs: string;
  /** Hash of their normal form. Absent: it equals `inputs`, or an earlier version pinned the template. */
  readonly normal?: string | undefined;
  /** Hash of the template. An edited template does not match the hash and is ignored. */
  readonly hash: string;
  readonly template: V1PodTemplateSpec;
}

type Images = Readonly<Partial<Record<'database' | 'cache', string>>>;

/**
 * Returns the desired objects. Objects of the data services have their pinned templates.
 * @param refused services whose spec is rejected. Running services keep their template whatever the spec requests
 */
export function withPinnedTemplates(
  desired: readonly DesiredObject[],
  resource: ObservedResource,
  observed: Observed,
  images: Images,
  refused: ReadonlyMap<'database' | 'cache', unknown> = new Map(),
): DesiredObject[] {
  const services = new Map([
    [`StatefulSet/${databaseName(resource)}`, 'database'],
    [`Deployment/${cacheName(resource)}`, 'cache'],
  ] as const);
  return desired.map((wanted) => {
    const { object } = wanted;
    const service = services.get(`${object.kind}/${object.metadata.name}` as never);
    if (service === undefined) return wanted;
    const image = images[service];
    const kept = readPinned(observed, object.kind, object.metadata.name);
    const spec = object.spec as { template: V1PodTemplateSpec };
    const { template, text } = templateFor(
      { resource, service, image, kept, isRefused: refused.has(service) },
      () => ({ live: liveTemplate(observed, object), rendered: spec.template }),
    );
    const annotations = { ...object.metadata.annotations, [ANNOTATIONS.podTemplate]: text };
    const metadata = { ...object.metadata, annotations };
    return { ...wanted, object: { ...object, metadata, spec: { ...spec, template } } };
  });
}

interface ServiceTemplate {
  readonly resource: ObservedResource;
  readonly service: 'database' | 'cache';
  readonly image: string | undefined;
  readonly kept: Pinned | undefined;
  readonly isRefused: boolean;
}

/** The pinned template if its inputs have the same meaning or the spec is rejected; otherwise the rendered template. */
function templateFor(
  { resource, service, image, kept, isRefused }: ServiceTemplate,
  current: () => { live: V1PodTemplateSpec | undefined; rendered: V1PodTemplateSpec },
): Pinned {
  if (kept !== undefined && (isRefused || isFor(kept, resource, service, image))) return kept;
  const { live, rendered } = current();
  if (isRefused) return pinning('', live ?? rendered);
  const template = kept !== undefined && sameMeaning(kept.template, rendered) ? kept.template : rendered;
  const { normal, written } = dataServiceInputsHashes(resource, service, image);
  return pinning(written, template, normal === written ? undefined : normal);
}

/** The running template, for workloads of an early version of Berth, which pinned no template. */
function liveTemplate(observed: Observed, { kind, metadata }: KubeObject): V1PodTemplateSpec | undefined {
  const live = liveChild(observed, kind, metadata.name) as { spec?: { template?: V1PodTemplateSpec } };
  return live?.spec?.template;
}

/** Whether an existing data service has the pinned template of exactly these inputs. */
export function isPinnedFor(
  observed: Observed,
  service: 'database' | 'cache',
  image: string | undefined,
): boolean {
  const { resource } = observed;
  const kept =
    service === 'database'
      ? readPinned(observed, 'StatefulSet', databaseName(resource))
      : readPinned(observed, 'Deployment', cacheName(resource));
  return kept !== undefined && isFor(kept, resource, service, image);
}

/** Whether a template was pinned for the inputs of this resource, in any spelling. */
function isFor(
  { inputs, normal }: PinnedTemplate,
  resource: ObservedResource,
  service: 'database' | 'cache',
  image: string | undefined,
): boolean {
  return isDataServiceInputsHash(resource, service, image, inputs, normal);
}

/** The pinned template of a data service; undefined: no template is pinned. */
export function pinnedTemplate(
  observed: Observed,
  kind: string,
  name: string,
): V1PodTemplateSpec | undefined {
  return readPinned(observed, kind, name)?.template;
}

type Pinned = PinnedTemplate & {
  /** The canonical text of the annotation, independent of the order in which it was written. */
  readonly text: string;
};

function pinning(inputs: string, template: V1PodTemplateSpec, normal?: string): Pinned {
  const canonical = canonicalJson(template);
  const hash = textHash(canonical);
  const spelling = normal === undefined ? '' : `"normal":${JSON.stringify(normal)},`;
  // The result equals canonicalJson of all values, but the template is serialized only once.
  const text = `{"hash":${JSON.stringify(hash)},"inputs":${JSON.stringify(inputs)},${spelling}"template":${canonical}}`;
  return { inputs, normal, hash, template, text };
}

/** Maximum number of cached templates. A template takes some KiB, and a deployment has up to two pinned templates. */
const MAX_PINNED = 200;

/** Parsed annotations of cached objects, which never change and which every reconcile reads. */
const known = boundedCache<ChildObject, Pinned | null>(MAX_PINNED);

function readPinned(observed: Observed, kind: string, name: string): Pinned | undefined {
  const live = liveChild(observed, kind, name);
  if (live === undefined) return undefined;
  let kept = known.get(live);
  if (kept === undefined) {
    kept = pinnedOn(live);
    known.set(live, kept);
  }
  return kept ?? undefined;
}

/** The start of the text that `pinning` writes. The hash covers the template as text. */
const AS_WRITTEN =
  /^\{"hash":"([0-9a-f]{16})","inputs":"([0-9a-f]{16})",(?:"normal":"([0-9a-f]{16})",)?"template":/;

/**
 * Parses an annotation that is unchanged since `pinning` wrote it; null when the hash does not match the text. The
 * comparison of the hash with the text avoids the computation of the canonical form. The shortcut does not reduce
 * security, because a person who edits the annotation can choose both template and hash in either form.
 */
function pinnedAsWritten(text: string): Pinned | null {
  const [start = '', hash = '', inputs = '', normal] = AS_WRITTEN.exec(text) ?? [];
  if (start === '' || !text.endsWith('}')) return null;
  const canonical = text.slice(start.length, -1);
  if (textHash(canonical) !== hash) return null;
  return { inputs, normal, hash, template: JSON.parse(canonical) as V1PodTemplateSpec, text };
}

function pinnedOn({ metadata }: ChildObject): Pinned | null {
  const text = metadata.annotations?.[ANNOTATIONS.podTemplate];
  if (text === undefined) return null;
  try {
    const asWritten = pinnedAsWritten(text);
    if (asWritten !== null) return asWritten;
    const { inputs, normal, hash, template } = (JSON.parse(text) ?? {}) as Partial<PinnedTemplate>;
    if (inputs === undefined || template === undefined) return null;
    const kept = pinning(inputs, template, normal);
    return kept.hash === hash ? kept : null;
  } catch {
    return null;
  }
}
