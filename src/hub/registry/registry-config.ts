import { registryHost } from '../../domain/net/image-reference.ts';
import { ISSUER } from './authority.ts';

/** Path of the key set in the registry's configuration. Any other path works as well. */
const KEY_SET_FILE = '/etc/registry/berth-keys.json';

/** Path of the API to which the registry sends its clients. */
export const TOKEN_PATH = '/v2/registry/token';

/**
 * The required part of the configuration of the registry (distribution 3 and later).
 * @param publicUrl URL of the hub for clients and nodes; null: unknown
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
