import { z } from 'zod';
import { line } from '../kubernetes/text.ts';
import { isRoutableName } from '../net/https-url.ts';
import { hostOf } from '../net/url-host.ts';
import { CHALLENGE_LABEL } from './challenge.ts';

/** Additional hosts of a deployment, beside the host of custom_url. */

/** Maximum number of additional hosts. Each has a route of its own, and possibly a certificate. */
export const MAX_DOMAINS = 20;

/** Maximum length of a host, so that the name of its TXT record is not longer than a DNS name may be. */
export const MAX_DOMAIN_LENGTH = 253 - CHALLENGE_LABEL.length - 1;

/** Maximum length of a host in a request. A host in another script can be longer than its ASCII form. */
const MAX_TEXT = 1024;

/** Characters that separate the parts of a URL, or that URLs encode. None of them can be part of a host. */
const NOT_OF_HOST = /[\s/\\?#@:[\]%]/;

/**
 * The normal form of a host: lower case, without a dot at the end, and other scripts as A-labels of IDNA (`xn--…`), which
 * are the names in DNS and in certificates. null: the text is not a host.
 */
export function normalDomain(text: string): string | null {
  const host = text.replace(/\.$/, '');
  return host === '' || NOT_OF_HOST.test(host) ? null : hostOf(`https://${host}`);
}

/** A host in a request, which is converted to its normal form. */
const domainSchema = line(MAX_TEXT)
  .overwrite((text) => normalDomain(text) ?? text)
  .superRefine((host, ctx) => {
    if (normalDomain(host) !== host || !isRoutableName(host)) {
      const message =
        'must be a DNS name of at least two labels, such as shop.example.com, without wildcards, scheme, port and path';
      ctx.addIssue({ code: 'custom', message });
    } else if (host.length > MAX_DOMAIN_LENGTH) {
      ctx.addIssue({ code: 'custom', message: `must not be longer than ${MAX_DOMAIN_LENGTH} characters` });
    }
  })
  .describe('Host.');

const DESCRIPTION =
  `Hosts under which the app is reachable in addition to custom_url, at most ${MAX_DOMAINS}. Each host belongs to one ` +
  'deployment among all tenants. Hosts are stored in lower case and in ASCII (IDNA). domains_status of the deployment shows ' +
  'DNS, certificate and route of each.';

/** domains in a request. */
export const domainsBodySchema = z
  .array(domainSchema)
  .max(MAX_DOMAINS)
  .superRefine((hosts, ctx) => {
    for (const [index, host] of hosts.entries()) {
      if (hosts.indexOf(host) === index) continue;
      const message = `must be unique in the list, but '${host}' occurs twice`;
      ctx.addIssue({ code: 'custom', path: [index], message });
    }
  })
  .nullish()
  .describe(`${DESCRIPTION} A PATCH replaces the list. null or an empty list removes all hosts.`);

/** domains in a response. */
export const shownDomainsSchema = z
  .array(z.string().describe('Host.'))
  .optional()
  .describe(`${DESCRIPTION} Absent: none.`);

/** The field as it is stored. It is absent if it is not set, so that deployments of earlier versions do not change. */
export interface DomainsField {
  domains?: string[] | undefined;
}

/** The field as it is sent. */
export interface DomainsBody {
  readonly domains?: readonly string[] | null | undefined;
}

/** The field as it is stored, for a POST and for a stored value. */
export function domainsOf({ domains }: DomainsBody): DomainsField {
  return domains == null || domains.length === 0 ? {} : { domains: [...domains] };
}

/** Merges the list of a PATCH. An absent list keeps the stored one. */
export function mergeDomains(stored: DomainsField, sent: DomainsBody): DomainsField {
  return domainsOf(sent.domains === undefined ? stored : sent);
}
