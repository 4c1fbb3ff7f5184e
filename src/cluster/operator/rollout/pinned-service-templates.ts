import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../../../contract/resource/names.ts';
import { canonicalJson, contentHash, textHash } from '../../../domain/core/hash.ts';
import type { DesiredObject, KubeObject } from '../../../workloads/desired-object.ts';
import { cacheName, databaseName } from '../../../workloads/names.ts';
import { sameMeaning } from '../../../workloads/same-template.ts';
import { dataServiceInputs, isDataServiceInputsHash } from '../../../workloads/template-inputs.ts';
import { boundedCache } from '../observe/recently.ts';
import { type ChildObject, liveChild, type Observed, type ObservedResource } from '../observed.ts';

/**
 * Pod templates of database and cache are rendered once for their inputs, like those of revisions: an operator that
 * renders otherwise restarts none. What was rendered stands in an annotation of the workload itself, for it is needed
 * exactly as long as that is there.
 */
interface KeptTemplate {
  /** Hash of `dataServiceInputs`. */
  readonly inputs: string;
  /** Hash of the template: one that somebody edited counts as none. */
  readonly hash: string;
  readonly template: V1PodTemplateSpec;
}

type Images = Readonly<Partial<Record<'database' | 'cache', string>>>;

/**
 * The wanted objects, those of the data services with the templates that their inputs had when they were last new.
 * @param refused services whose spec is refused: those that run keep their template, whatever is asked
 */
export function withKeptTemplates(
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
    const kept = readKept(observed, object.kind, object.metadata.name);
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
  readonly kept: Kept | undefined;
  readonly isRefused: boolean;
}

/** The kept template while its inputs mean the same or the spec is refused; otherwise the rendered one. */
function templateFor(
  { resource, service, image, kept, isRefused }: ServiceTemplate,
  current: () => { live: V1PodTemplateSpec | undefined; rendered: V1PodTemplateSpec },
): Kept {
  if (kept !== undefined && (isRefused || isDataServiceInputsHash(resource, service, image, kept.inputs)))
    return kept;
  const { live, rendered } = current();
  if (isRefused) return keeping('', live ?? rendered);
  const template = kept !== undefined && sameMeaning(kept.template, rendered) ? kept.template : rendered;
  return keeping(contentHash(dataServiceInputs(resource, service, image)), template);
}

/** As it runs: an early version of Berth noted no template. */
function liveTemplate(observed: Observed, { kind, metadata }: KubeObject): V1PodTemplateSpec | undefined {
  const live = liveChild(observed, kind, metadata.name) as { spec?: { template?: V1PodTemplateSpec } };
  return live?.spec?.template;
}

/** Whether a data service that is there has the template of just these inputs. */
export function isKeptFor(
  observed: Observed,
  service: 'database' | 'cache',
  image: string | undefined,
): boolean {
  const { resource } = observed;
  const kept =
    service === 'database'
      ? readKept(observed, 'StatefulSet', databaseName(resource))
      : readKept(observed, 'Deployment', cacheName(resource));
  return kept !== undefined && isDataServiceInputsHash(resource, service, image, kept.inputs);
}

/** The template of a data service as it was when its inputs were last new; undefined: none is kept. */
export function keptTemplate(observed: Observed, kind: string, name: string): V1PodTemplateSpec | undefined {
  return readKept(observed, kind, name)?.template;
}

type Kept = KeptTemplate & {
  /** As the annotation has to be, whatever order somebody has given it. */
  readonly text: string;
};

function keeping(inputs: string, template: V1PodTemplateSpec): Kept {
  const canonical = canonicalJson(template);
  const hash = textHash(canonical);
  // As canonicalJson would have it of all three, without going over the template once more.
  const text = `{"hash":${JSON.stringify(hash)},"inputs":${JSON.stringify(inputs)},"template":${canonical}}`;
  return { inputs, hash, template, text };
}

/** Each takes some KiB; a deployment has up to two. */
const MOST_KNOWN = 200;

/** Of cached objects, which never change: it is asked for at each look. */
const known = boundedCache<ChildObject, Kept | null>(MOST_KNOWN);

function readKept(observed: Observed, kind: string, name: string): Kept | undefined {
  const live = liveChild(observed, kind, name);
  if (live === undefined) return undefined;
  let kept = known.get(live);
  if (kept === undefined) {
    kept = keptOn(live);
    known.set(live, kept);
  }
  return kept ?? undefined;
}

/** The text that `keeping` makes, of which the hash is of the rest as it stands. */
const AS_WRITTEN = /^\{"hash":"([0-9a-f]{16})","inputs":"([0-9a-f]{16})","template":/;

/**
 * null: its hash is not that of the text behind it. What is left as it was written needs no canonical form anew; who writes the
 * note chooses template and hash in either form.
 */
function keptAsWritten(text: string): Kept | null {
  const [start = '', hash = '', inputs = ''] = AS_WRITTEN.exec(text) ?? [];
  if (start === '' || !text.endsWith('}')) return null;
  const canonical = text.slice(start.length, -1);
  if (textHash(canonical) !== hash) return null;
  return { inputs, hash, template: JSON.parse(canonical) as V1PodTemplateSpec, text };
}

function keptOn({ metadata }: ChildObject): Kept | null {
  const text = metadata.annotations?.[ANNOTATIONS.podTemplate];
  if (text === undefined) return null;
  try {
    const asWritten = keptAsWritten(text);
    if (asWritten !== null) return asWritten;
    const { inputs, hash, template } = (JSON.parse(text) ?? {}) as Partial<KeptTemplate>;
    if (inputs === undefined || template === undefined) return null;
    const kept = keeping(inputs, template);
    return kept.hash === hash ? kept : null;
  } catch {
    return null;
  }
}
