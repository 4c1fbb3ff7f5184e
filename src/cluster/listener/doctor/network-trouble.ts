import { type Check, type Finding, failed } from './finding.ts';

/** Why the hub did not respond, by the code of the error: which step failed, and what to do. */

const UNKNOWN_NAME = ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'];

const UNKNOWN_AUTHORITY = [
  // The code for a certificate authority with the same name and another key, which means that it was created again.
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

/** In order of precedence: the first match is reported. */
const TROUBLES: readonly Trouble[] = [
  {
    check: 'hub_name',
    matches: isOneOf(UNKNOWN_NAME),
    message: (host) => `the name of ${host} cannot be resolved`,
    next: 'check the host in BERTH_HUB_URL, and that the DNS of this cluster resolves it',
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
    next: 'set the clock of this machine, or of the machine that issued the certificate',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(UNKNOWN_AUTHORITY),
    message: (host) => `the certificate of ${host} is not issued by an authority that this listener trusts`,
    next: 'store the certificate of the authority in a PEM file, and set BERTH_HUB_CA to this file',
  },
  {
    check: 'hub_tls',
    matches: isOneOf(['ERR_TLS_CERT_ALTNAME_INVALID']),
    message: (host) => `the certificate is not valid for ${host}`,
    next: 'use a name in BERTH_HUB_URL that the certificate contains, or issue a certificate with this name',
  },
  {
    check: 'hub_tls',
    matches: (code) => /^(ERR_SSL|ERR_TLS|ERR_OSSL|CERT_|EPROTO)/.test(code),
    message: (host) => `TLS with ${host} failed`,
    next: 'check that the hub uses https at this port (if it uses http, put http:// into BERTH_HUB_URL), and that BERTH_HUB_CA contains PEM certificates',
  },
  {
    check: 'hub_answer',
    matches: (code) => code.startsWith('HPE_'),
    message: (host) => `${host} is not an HTTP server`,
    next: 'check scheme and port in BERTH_HUB_URL: an https hub needs https://',
  },
];

/** Error codes of an http call to a port that uses https. */
const HUNG_UP = isOneOf(['ECONNRESET', 'EPIPE']);
const OTHER_SCHEME: Trouble = {
  check: 'hub_connection',
  matches: HUNG_UP,
  message: (host) => `${host} closes each connection`,
  next: 'the port seems to use https: put https:// into BERTH_HUB_URL',
};

/** The finding for all other codes: no response. */
const NO_CONNECTION: Trouble = {
  check: 'hub_connection',
  matches: () => true,
  message: (host) => `${host} cannot be reached`,
  next: 'check port and scheme in BERTH_HUB_URL, that the hub runs, and that firewall, NetworkPolicy and proxy allow connections from this cluster to it',
};

/**
 * The finding for a call without a response.
 * @param host `name:port`
 * @param isHttp whether the host was called with http
 * @param detail the message of the error; it never contains a key
 */
export function networkTrouble(host: string, isHttp: boolean, code: string, detail: string): Finding {
  const schemeTrouble = isHttp && HUNG_UP(code) ? OTHER_SCHEME : undefined;
  const { check, message, next } =
    schemeTrouble ?? TROUBLES.find(({ matches }) => matches(code)) ?? NO_CONNECTION;
  const [firstLine = ''] = detail.split('\n');
  const words = [code, firstLine.trim()].filter((word) => word !== '');
  return failed(check, `${message(host)} (${[...new Set(words)].join(': ')})`, next);
}
