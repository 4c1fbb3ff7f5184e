/** Random lists of additional hosts. */
import fc from 'fast-check';
import { MAX_DOMAINS } from '../../src/domain/app-hosts/domains.ts';

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/);

/** Hosts in normal form. */
export const domains = (): fc.Arbitrary<string[]> =>
  fc.uniqueArray(
    fc
      .tuple(label, fc.constantFrom('example.com', 'example.org', 'xn--bcher-kva.example'))
      .map((parts) => parts.join('.')),
    { maxLength: Math.min(5, MAX_DOMAINS) },
  );

/** Another spelling of the same host. */
export const spelled = (host: string): fc.Arbitrary<string> =>
  fc.constantFrom(host, host.toUpperCase(), `${host}.`, host.replace('xn--bcher-kva', 'Bücher'));

/** A list as a client sends it. null removes all hosts. */
export const sentDomains = (): fc.Arbitrary<string[] | null> =>
  fc.option(
    domains().chain((hosts) => fc.tuple(...hosts.map(spelled)) as unknown as fc.Arbitrary<string[]>),
    { nil: null },
  );
