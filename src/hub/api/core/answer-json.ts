import type { ShownDeployment } from '../deployments/deployment-schema.ts';
import { deploymentListSchema, deploymentSchema } from '../deployments/deployment-schema.ts';

/** The JSON of answers. V8's own, but for parts of a deployment that are the same in each answer: most of its text. */

const texts = new WeakMap<object, string>();

/** Keeps the JSON of a part of answers for as long as the part itself is kept; nobody may change it any more. */
export function lasting(part: object): void {
  texts.set(part, JSON.stringify(part));
}

const textOf = (part: object) => texts.get(part) ?? JSON.stringify(part);

function deploymentJson(shown: ShownDeployment): string {
  const { id, tenant_id, name, source, source_config, effective_resource_spec, ...others } = shown;
  const head = JSON.stringify({ id, tenant_id, name, source }).slice(0, -1);
  const middle = JSON.stringify(others).slice(1, -1);
  return `${head},"source_config":${textOf(source_config)},${middle},"effective_resource_spec":${textOf(effective_resource_spec)}}`;
}

/** A UTF-16 unit takes no more of UTF-8. */
const MOST_BYTES = 3;

/** What a deployment mostly takes, with some to spare. */
const USUAL_BYTES = 4096;

/** Puts text together as bytes. */
class Bytes {
  #buffer: Buffer;
  #length = 0;

  constructor(expected: number) {
    this.#buffer = Buffer.allocUnsafe(expected);
  }

  text(text: string): void {
    this.#makeRoom(text.length * MOST_BYTES);
    this.#length += this.#buffer.write(text, this.#length);
  }

  whole(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #makeRoom(bytes: number): void {
    if (this.#buffer.length - this.#length >= bytes) return;
    const larger = Buffer.allocUnsafe(2 * this.#buffer.length + bytes);
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** As bytes: a page has hundreds of kilobytes, and as one text it would be copied and counted several times. */
function pageJson({ resources, offset }: Page): Buffer {
  const page = new Bytes((resources.length + 1) * USUAL_BYTES);
  page.text('{"resources":[');
  for (const [at, shown] of resources.entries()) {
    if (at > 0) page.text(',');
    page.text(deploymentJson(shown));
  }
  page.text(`],"offset":${offset}}`);
  return page.whole();
}

interface Page {
  readonly resources: readonly ShownDeployment[];
  readonly offset: number;
}

/** fastify sends bytes too, though its types know only of text. */
type Serializer = (data: unknown) => string;

const SERIALIZERS: ReadonlyMap<unknown, Serializer> = new Map<unknown, Serializer>([
  [deploymentSchema, (data) => deploymentJson(data as ShownDeployment)],
  [deploymentListSchema, (data) => pageJson(data as Page) as unknown as string],
]);

/**
 * What fastify makes an answer of a schema into text with. Answers are typed by their schemas and held against them in
 * tests; checking each again would cost more than all else.
 */
export const serializerFor = ({ schema }: { readonly schema: unknown }): Serializer =>
  SERIALIZERS.get(schema) ?? JSON.stringify;
