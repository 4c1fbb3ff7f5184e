import { build, type Schema } from 'fast-json-stringify';
import type { z } from 'zod';
import { checkOf } from './response-check.ts';
import { shapeOf } from './response-shape.ts';

/**
 * Serializes responses through their schemas (docs/decisions/0066): only declared fields reach a client, and a value of
 * the wrong type is an error.
 */

type Serializer = (data: unknown) => string;

function createSerializer(schema: z.ZodType): Serializer {
  const shape = shapeOf(schema);
  const check = checkOf(shape);
  const write = build(shape as Schema);
  return (data) => {
    const problem = check(data);
    if (problem !== null) {
      throw new Error(`failed to serialize a response: it${problem}; next: fix its handler or its schema`);
    }
    return write(data);
  };
}

/** Routes share schemas, and each GET route has a HEAD route. */
const serializers = new WeakMap<z.ZodType, Serializer>();

function serializerOf(schema: z.ZodType): Serializer {
  const known = serializers.get(schema);
  if (known !== undefined) return known;
  const serializer = createSerializer(schema);
  serializers.set(schema, serializer);
  return serializer;
}

/**
 * fastify's serializer compiler. A serializer is created for its first response, because creating all of them takes a tenth
 * of the processor time in which the API starts.
 */
export function serializerCompiler({ schema }: { readonly schema: unknown }): Serializer {
  let serialize: Serializer | undefined;
  return (data) => {
    serialize ??= serializerOf(schema as z.ZodType);
    return serialize(data);
  };
}
