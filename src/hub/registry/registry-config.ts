import { registryHost } from '../../domain/net/image-reference.ts';
import { ISSUER } from './authority.ts';

/** Where the registry's own configuration finds the key set; any place will do. */
const KEY_SET_FILE = '/etc/registry/berth-keys.json';

/** Path of the API to which the registry sends its clients. */
export const TOKEN_PATH = '/v2/registry/token';

/**
 * What the configuration of the registry (distribution 3 and later) must hold.
 * @param publicUrl of the hub, as clients and nodes reach it; null: not known
 */
export function registryConfig(registry: string | null, publicUrl: string | null): string {
  const base = (publicUrl ?? 'https://berth.example.com').replace(/\/+$/, '');
  const host = registry === null ? 'registry.example.com' : registryHost(registry);
  return [
    'auth:',
    '  token:',
    `    realm: ${base}${TOKEN_PATH}`,
    `    service: ${host}`,
    `    issuer: ${ISSUER}`,
    `    jwks: ${KEY_SET_FILE}`,
    '    signingalgorithms: [ES256]',
  ].join('\n');
}
