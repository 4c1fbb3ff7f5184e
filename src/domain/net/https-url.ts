import { line } from '../kubernetes/text.ts';
import { isPublicAddress } from './networks.ts';

/** URLs from tenants: https without credentials. */

const MAX_URL_LENGTH = 2048;
const MAX_HOST_LENGTH = 253;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const PATH = /^(\/[A-Za-z0-9._~-]+)*\/?$/;

/** Suffixes of names that each machine or cluster resolves differently. */
const LOCAL_SUFFIXES = ['localhost', 'svc', 'cluster.local'];
/** Suffixes of names that each machine, cluster or network resolves differently. */
const PRIVATE_SUFFIXES = [...LOCAL_SUFFIXES, 'local', 'internal', 'intranet', 'lan', 'home.arpa'];

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;

function isHostName(host: string): boolean {
  const labels = host.split('.');
  if (host.length > MAX_HOST_LENGTH) return false;
  return labels.every((label) => DNS_LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
}

function isDnsName(host: string): boolean {
  return host.includes('.') && isHostName(host);
}

/** Whether a name can be routed to an app: a DNS name of at least two labels that is not local to a machine or cluster. */
export function isRoutableName(host: string): boolean {
  return isDnsName(host) && !isUnder(host, LOCAL_SUFFIXES);
}

function isUnder(host: string, suffixes: readonly string[]): boolean {
  return suffixes.some((suffix) => host === suffix || host.endsWith(`.${suffix}`));
}

/** Whether the host of a URL is a public DNS name or a public address. Names are not resolved. */
export function isPublicHost(host: string): boolean {
  if (host.startsWith('[')) return isPublicAddress(host.slice(1, -1));
  return IPV4.test(host) ? isPublicAddress(host) : isDnsName(host) && !isUnder(host, PRIVATE_SUFFIXES);
}

type Check = (url: URL) => string | null;

const https: Check = (url) => (url.protocol === 'https:' ? null : 'must be an https URL');
const noCredentials: Check = (url) =>
  url.username === '' && url.password === '' ? null : 'must not contain a user or password';
const noQuery: Check = (url) => (url.search === '' && url.hash === '' ? null : "must not contain '?' or '#'");
const noDotAtEnd: Check = (url) => (url.hostname.endsWith('.') ? 'its host must not end with a dot' : null);
const publicHost: Check = (url) =>
  isPublicHost(url.hostname) ? null : 'must not have a private address as its host';
const hostName: Check = (url) =>
  isHostName(url.hostname) ? null : 'its host must be a DNS name without wildcards';
const routableName: Check = (url) =>
  isRoutableName(url.hostname)
    ? null
    : 'must have a DNS name of at least two labels as its host, such as app.example.com';
const defaultPort: Check = (url) => (url.port === '' ? null : 'must not contain a port');
const plainPath: Check = (url) =>
  PATH.test(url.pathname)
    ? null
    : "its path must consist of letters, digits, '-', '.', '_' and '~' between single slashes";

function urlSchema(checks: readonly Check[]) {
  return line(MAX_URL_LENGTH)
    .min(1)
    .superRefine((value, ctx) => {
      if (/\s/.test(value) || value.includes('\\') || !URL.canParse(value)) {
        ctx.addIssue({ code: 'custom', message: 'must be an https URL' });
        return;
      }
      const url = new URL(value);
      const message = checks.map((check) => check(url)).find((found) => found !== null);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    });
}

/** External URL of an app, with host and path of its route. */
export const appUrlSchema = urlSchema([
  https,
  noCredentials,
  noDotAtEnd,
  routableName,
  defaultPort,
  noQuery,
  plainPath,
]);

/** URL of a route in a custom resource. The rules equal the rules of `appUrlSchema`, but any domain is valid. */
export const routeUrlSchema = urlSchema([
  https,
  noCredentials,
  noDotAtEnd,
  hostName,
  defaultPort,
  noQuery,
  plainPath,
]);

/** URL of a repository whose host may be private. Other code checks whether the installation allows private hosts. */
export const anyRepositoryUrlSchema = urlSchema([https, noCredentials, noDotAtEnd, noQuery]);

/** URL of a repository to clone. */
export const repositoryUrlSchema = urlSchema([https, noCredentials, noDotAtEnd, publicHost, noQuery]);

/** URL of a git host, optionally with a path. Other code checks whether the host may be private. */
export const gitHostUrlSchema = urlSchema([https, noCredentials, noDotAtEnd, noQuery, plainPath]);

/** URL of the public keys of an issuer of tokens. */
export const keySetUrlSchema = urlSchema([https, noCredentials, noDotAtEnd, publicHost, noQuery]);
