import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';

/**
 * Who vouches for git hosts, in PEM: whom Node believes, which brings its own list, and those of a file. Berth asks a host
 * before git does, and git has to come to the same answer, whatever the image it runs in believes.
 * @param caFile null: none besides
 */
export function authorities(caFile: string | null): string[] {
  return [...getCACertificates('default'), ...(caFile === null ? [] : [readFileSync(caFile, 'utf8')])];
}
