import fc from 'fast-check';

/** Arbitraries of names, texts and references as Kubernetes takes them. */

export interface KubernetesOptions {
  /** Stay within this Pod Security level. */
  podSecurity: 'baseline' | 'restricted';
  /** Also projected ServiceAccount tokens, which Berth's default policies refuse. */
  serviceAccountTokens: boolean;
}

/** Members may be missing, as a client leaves them out. */
export function partial<T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Partial<T>>;
}

export const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?$/);
export const subdomain = fc
  .array(label, { minLength: 1, maxLength: 3 })
  .map((labels) => labels.join('.'))
  .map((name) => name.slice(0, 40).replace(/[-.]+$/, ''));
export const configMapKey = fc.stringMatching(/^[A-Za-z0-9_][-._A-Za-z0-9]{0,20}$/);
export const prose = fc.string({ unit: 'grapheme', maxLength: 30 });
export const script = fc.array(prose, { maxLength: 3 }).map((lines) => lines.join('\n'));
const segment = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,10}[A-Za-z0-9_]$/);
export const relativePath = fc
  .array(segment, { minLength: 1, maxLength: 3 })
  .map((segments) => segments.join('/'));
export const absolutePath = relativePath.map((path) => `/${path}`);
export const mode = fc.integer({ min: 0, max: 0o777 });

export const qualifiedName = fc
  .tuple(fc.option(subdomain), fc.stringMatching(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?$/))
  .map(([prefix, name]) => (prefix === null ? name : `${prefix}/${name}`));
export const labelValue = fc.stringMatching(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,40}[A-Za-z0-9])?)?$/);
export const annotationValue = script;

export const bytesText = fc
  .tuple(fc.integer({ min: 1, max: 900 }), fc.constantFrom('', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'E6'))
  .map(([amount, suffix]) => `${amount}${suffix}`);
const divisorBytes = fc.constantFrom('1', '1k', '1M', '1Gi', '1Ti', '1Ei', '0');

export const resourceField = fc.oneof(
  partial({ divisor: fc.constantFrom('1', '1m') }).map((rest) => ({
    resource: 'limits.cpu' as const,
    ...rest,
  })),
  fc
    .tuple(
      fc.constantFrom(
        'limits.memory' as const,
        'requests.memory' as const,
        'requests.ephemeral-storage' as const,
      ),
      partial({ divisor: divisorBytes }),
    )
    .map(([resource, rest]) => ({ resource, ...rest })),
);

export const subscriptedPath = fc
  .tuple(fc.constantFrom('labels', 'annotations'), qualifiedName)
  .map(([map, key]) => `metadata.${map}['${key}']`);
const apiVersion = { apiVersion: fc.constant('v1' as const) };
export function fieldRef(path: fc.Arbitrary<string>) {
  return fc.tuple(path, partial(apiVersion)).map(([fieldPath, rest]) => ({ fieldPath, ...rest }));
}

export const optional = { optional: fc.boolean() };
