import type { ShownDeployment } from './deployment-schema.ts';
import { deploymentListSchema, deploymentSchema } from './deployment-schema.ts';

/** The JSON of answers. V8's own, but for parts of a deployment that are the same in each answer: most of its text. */

const texts = new WeakMap<object, string>();

/** Keeps the JSON of a part of answers for as long as the part itself is kept; nobody may change it any more. */
export function lasting<Part extends object>(part: Part): Part {
  texts.set(part, JSON.stringify(part));
  return part;
}

const textOf = (part: object) => texts.get(part) ?? JSON.stringify(part);

function deploymentJson(shown: ShownDeployment): string {
  const { id, tenant_id, name, source, source_config, effective_resource_spec, ...others } = shown;
  const head = JSON.stringify({ id, tenant_id, name, source }).slice(0, -1);
  const rest = JSON.stringify(others).slice(1, -1);
  return `${head},"source_config":${textOf(source_config)},${rest},"effective_resource_spec":${textOf(effective_resource_spec)}}`;
}

type Serializer = (data: unknown) => string;

const SERIALIZERS: ReadonlyMap<unknown, Serializer> = new Map<unknown, Serializer>([
  [deploymentSchema, (data) => deploymentJson(data as ShownDeployment)],
  [
    deploymentListSchema,
    (data) => {
      const { resources, offset } = data as { resources: readonly ShownDeployment[]; offset: number };
      return `{"resources":[${resources.map(deploymentJson).join(',')}],"offset":${offset}}`;
    },
  ],
]);

/**
 * What fastify makes an answer of a schema into text with. Answers are typed by their schemas and held against them in
 * tests; checking each again would cost more than all else.
 */
export const serializerFor = ({ schema }: { readonly schema: unknown }): Serializer =>
  SERIALIZERS.get(schema) ?? JSON.stringify;
