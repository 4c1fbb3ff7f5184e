import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';

/**
 * CA certificates, in PEM, that are trusted for git hosts: Node's own list, plus those of a file. Berth connects to a
 * host before git does, and git must trust the same hosts, whatever CA bundle its image has.
 * @param caFile null: no additional certificates
 */
export function authorities(caFile: string | null): string[] {
  return [...getCACertificates('default'), ...(caFile === null ? [] : [readFileSync(caFile, 'utf8')])];
}
