/** What Secrets hold, as two runs of one workload, or the record, can be held against it. All of it is test data. */
import type { KubeObject, UntypedObject } from '../../src/kube/object.ts';

/** Made at random for each database: that they are there is what counts. */
const GENERATED: ReadonlySet<string> = new Set(['password', 'uri']);

type Values = Readonly<Record<string, string>>;

function valuesOf(secret: KubeObject): Record<string, string> {
  const { data = {} } = secret as UntypedObject & { data?: Values };
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
}

const isCredentials = ({ metadata }: KubeObject) => /-db(?:-copy)?$/.test(metadata.name);

/** With its values as text, so that the names of a world can be told in them; generated ones are masked. */
export function withValues(object: UntypedObject): UntypedObject {
  if (object.kind !== 'Secret') return object;
  const entries = Object.entries(valuesOf(object)).map(([key, value]) => [
    key,
    isCredentials(object) && GENERATED.has(key) ? '<generated>' : value,
  ]);
  return { ...object, data: Object.fromEntries(entries) };
}

/** A line for each value of an environment that is not as the record has it; the values are not told. */
export function otherValues(wanted: Values, secret: KubeObject): string[] {
  const there = valuesOf(secret);
  return [...new Set([...Object.keys(wanted), ...Object.keys(there)])]
    .filter((key) => wanted[key] !== there[key])
    .sort()
    .map((key) => `Secret ${secret.metadata.name}: ${key} is not what was sent`);
}
