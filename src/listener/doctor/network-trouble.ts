import { type Check, type Finding, failed } from './finding.ts';

/** Why there was no answer of the hub, told from the error's code: which step failed, and what to do. */

const UNKNOWN_NAME = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'];

const UNKNOWN_AUTHORITY = [
  // An authority of the same name with another key: one that was made anew.
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
];

interface Trouble {
  readonly check: Check;
  readonly matches: (code: string) => boolean;
  readonly message: (host: string) => string;
  readonly next: string;
}

const isOneOf = (codes: readonly string[]) => (code: string) => codes.includes(code);

/** In this order: the first that matches is told. */
const TROUBLES: readonly Trouble[] = [
  {
    check: 'hub_name',
    matches: isOneOf(UNKNOWN_NAME),
    message: (host) => `the name of ${host} cannot be resolved`,
    next: 'check the host in BERTH_HUB_URL, and that the DNS of this cluster knows it',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(['CERT_HAS_EXPIRED']),
    message: (host) => `the certificate of ${host} has expired`,
    next: 'renew the certificate of the hub; if it is valid, set the clock of this machine',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(['CERT_NOT_YET_VALID']),
    message: (host) => `the certificate of ${host} is not valid yet`,
    next: 'set the clock of this machine, or of the one that issued the certificate',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(UNKNOWN_AUTHORITY),
    message: (host) => `the certificate of ${host} is vouched for by nobody whom this listener trusts`,
    next: 'put the certificate of the authority that issued it into a PEM file and name that in BERTH_HUB_CA',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(['ERR_TLS_CERT_ALTNAME_INVALID']),
    message: (host) => `the certificate is not one for ${host}`,
    next: 'use a name in BERTH_HUB_URL that the certificate holds, or issue one with this name',
  },
  {
    check: 'hub_tls',
    matches: (code) => /^(ERR_SSL|ERR_TLS|ERR_OSSL|CERT_|EPROTO)/.test(code),
    message: (host) => `TLS with ${host} failed`,
    next: 'check that the hub speaks https at this port (where it speaks http, put http:// into BERTH_HUB_URL), and that BERTH_HUB_CA holds certificates in PEM form',
  },
  {
    check: 'hub_answer',
    matches: (code) => code.startsWith('HPE_'),
    message: (host) => `${host} does not speak HTTP`,
    next: 'check scheme and port in BERTH_HUB_URL: an https hub needs https://',
  },
];

/** What a port that speaks https does to a call with http. */
const HUNG_UP = isOneOf(['ECONNRESET', 'EPIPE']);
const OTHER_SCHEME: Trouble = {
  check: 'hub_connection',
  matches: HUNG_UP,
  message: (host) => `${host} ends each connection`,
  next: 'the port seems to speak https: put https:// into BERTH_HUB_URL',
};

/** For codes that are in no list: nothing came back. */
const NO_CONNECTION: Trouble = {
  check: 'hub_connection',
  matches: () => true,
  message: (host) => `${host} cannot be reached`,
  next: 'check port and scheme in BERTH_HUB_URL, that the hub runs, and that firewall, NetworkPolicy and proxy let this cluster out to it',
};

/**
 * The finding for a call that brought no answer.
 * @param host `name:port`
 * @param isHttp whether it was called with http
 * @param detail the error's own words; no key is ever in them
 */
export function networkTrouble(host: string, isHttp: boolean, code: string, detail: string): Finding {
  const spoken = isHttp && HUNG_UP(code) ? OTHER_SCHEME : undefined;
  const { check, message, next } = spoken ?? TROUBLES.find(({ matches }) => matches(code)) ?? NO_CONNECTION;
  const [firstLine = ''] = detail.split('\n');
  const words = [code, firstLine.trim()].filter((word) => word !== '');
  return failed(check, `${message(host)} (${[...new Set(words)].join(': ')})`, next);
}
