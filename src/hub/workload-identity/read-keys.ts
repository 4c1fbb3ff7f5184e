import { callHost } from '../../outbound/call-host.ts';
import type { AddressRules } from '../../outbound/resolve-host.ts';
import { KeysUnavailable, type ReadKeys } from './key-source.ts';

/** Reads the keys of issuers over https, from public addresses only, without redirects. */

const MAX_BYTES = 256 * 1024;

export const keyReader =
  (addresses: AddressRules): ReadKeys =>
  async (url, signal) => {
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const { status, body } = await callHost(
      url,
      { method: 'GET', headers, maxBytes: MAX_BYTES, addresses },
      signal,
    );
    if (status !== 200) throw new KeysUnavailable(`the response has the status ${status}`);
    return body;
  };
