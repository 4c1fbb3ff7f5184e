import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { ANNOTATIONS } from '../contract/names.ts';
import { canonicalJson, contentHash } from '../domain/hash.ts';
import type { DesiredObject } from '../workloads/desired-object.ts';
import { cacheName, databaseName } from '../workloads/names.ts';
import { dataServiceInputs } from '../workloads/template-inputs.ts';
import { liveChild, type Observed, type ObservedResource } from './observed.ts';

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

/** The wanted objects, those of the data services with the templates that their inputs had when they were last new. */
export function withKeptTemplates(
  desired: readonly DesiredObject[],
  resource: ObservedResource,
  observed: Observed,
  images: Images,
): DesiredObject[] {
  const services = new Map([
    [`StatefulSet/${databaseName(resource)}`, 'database'],
    [`Deployment/${cacheName(resource)}`, 'cache'],
  ] as const);
  return desired.map((wanted) => {
    const { object } = wanted;
    const service = services.get(`${object.kind}/${object.metadata.name}` as never);
    if (service === undefined) return wanted;
    const inputs = contentHash(dataServiceInputs(resource, service, images[service]));
    const kept = readKept(observed, object.kind, object.metadata.name);
    const spec = object.spec as { template: V1PodTemplateSpec };
    const template = kept?.inputs === inputs ? kept.template : spec.template;
    const note: KeptTemplate = { inputs, hash: contentHash(template), template };
    const annotations = {
      ...object.metadata.annotations,
      [ANNOTATIONS.podTemplate]: canonicalJson(note),
    };
    const metadata = { ...object.metadata, annotations };
    return { ...wanted, object: { ...object, metadata, spec: { ...spec, template } } };
  });
}

/** The template of a data service as it was when its inputs were last new; undefined: none is kept. */
export function keptTemplate(observed: Observed, kind: string, name: string): V1PodTemplateSpec | undefined {
  return readKept(observed, kind, name)?.template;
}

function readKept(observed: Observed, kind: string, name: string): KeptTemplate | undefined {
  const text = liveChild(observed, kind, name)?.metadata.annotations?.[ANNOTATIONS.podTemplate];
  if (text === undefined) return undefined;
  try {
    const note = JSON.parse(text) as Partial<KeptTemplate> | null;
    const { inputs, hash, template } = note ?? {};
    if (inputs === undefined || template === undefined || contentHash(template) !== hash) return undefined;
    return { inputs, hash, template };
  } catch {
    return undefined;
  }
}
