import { z } from 'zod';
import { SIGNATURE_ALGORITHMS } from '../domain/access/public-keys.ts';
import { HOSTING_MODES } from '../domain/deployment/source.ts';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { rate, rateText } from './rates.ts';
import { HUB, type Setting, secret, setting } from './setting.ts';
import { baseUrl, count, csv, flag, optional, port, proxies } from './value-schemas.ts';

/** Settings of the hub (the API and the commands on its database), and those that every role reads. */
export const HUB_SETTINGS = {
  DATABASE_URL: secret(
    optional,
    'PostgreSQL database of the hub (api, migrate, keys): postgres://user:password@host/name. Use an ordinary role that owns the database',
    HUB,
  ),
  BERTH_ALLOW_RLS_BYPASS: setting(
    flag,
    'true: the user of DATABASE_URL may be a superuser or have BYPASSRLS. Unset: rejected in cloud mode, a warning otherwise',
    HUB,
  ),
  BERTH_DATABASE_POOL: setting(count(10), 'database connections of each API process', HUB),
  BERTH_MIGRATION_WAIT_SECONDS: setting(
    count(0, 0),
    'seconds that the API waits at its start for the database and its migration. 0: the API fails at once',
    HUB,
  ),
  BERTH_HOST: setting(
    z.string().default('127.0.0.1'),
    'address on which the API and the health endpoints of each role listen',
  ),
  BERTH_PORT: setting(port(8080), 'port of the API. 0: a free port', HUB),
  BERTH_METRICS_PORT: setting(
    port(9090),
    'port of /metrics, and of the health endpoints of listener and operator. 0: a free port',
  ),
  BERTH_PUBLIC_URL: setting(
    baseUrl,
    'base URL of the API for clients. The operator does not route the host of this URL to a deployment',
    [...HUB, 'operator'],
  ),
  BERTH_CONSOLE: setting(flag, 'false: the API does not serve the web console at /console', HUB),
  BERTH_APP_DOMAIN: setting(
    dnsSubdomainSchema.optional(),
    'cloud mode: each deployment gets https://<app>.<this domain> as its custom_url. Unset: no URL',
    HUB,
  ),
  BERTH_HOSTING: setting(
    z.enum(HOSTING_MODES).default('self_hosted'),
    'hosting mode, cloud or self_hosted. The mode determines the allowed sources and the default policy',
  ),
  BERTH_POLICY: setting(optional, 'YAML file that changes the default policy of the hosting mode', [
    ...HUB,
    'operator',
  ]),
  BERTH_ENCRYPTION_KEYS: secret(
    optional,
    'keys that encrypt secrets at rest: id:base64 of 32 bytes, comma-separated. The first key encrypts (api, keys)',
    HUB,
  ),
  BERTH_LOST_ENCRYPTION_KEYS: setting(
    csv,
    'ids of lost encryption keys. The API starts although it cannot decrypt the data of these keys',
    HUB,
  ),
  BERTH_BOOTSTRAP_API_KEY: secret(
    optional,
    'first API key, with all scopes, for the tenant BERTH_BOOTSTRAP_TENANT',
    HUB,
  ),
  BERTH_BOOTSTRAP_TENANT: setting(
    z.string().default('default'),
    'name of the tenant of the bootstrap key',
    HUB,
  ),
  BERTH_REGISTRY: setting(optional, 'registry of the platform. Internal images must be in this registry', [
    ...HUB,
    'operator',
  ]),
  BERTH_REGISTRY_SIGNING_KEY: secret(
    optional,
    'key with which the hub authorizes pushes and pulls: PEM of an EC P-256 key (berth keys registry). With several keys, the first signs and all are accepted (docs/registry.md)',
    HUB,
  ),
  BERTH_PUSH_TOKEN_SECONDS: setting(
    z.coerce.number().int().min(60).max(86_400).default(3600),
    'lifetime of push credentials for this registry, in seconds',
    HUB,
  ),
  BERTH_RATE_LIMIT: setting(
    rateText.optional(),
    'limit of calls with one API key in each API process, PER_SECOND:BURST or off. Unset: 500:5000, in cloud mode 100:1000. Listeners may call ten times as often',
    HUB,
  ),
  BERTH_AUTH_FAILURE_LIMIT: setting(
    rate('1:60'),
    'limit of calls without a valid API key from one address, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_WEBHOOK_LIMIT: setting(
    rate('10:300'),
    'limit of webhook deliveries of one integration in each API process, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_CLUSTER_READ_LIMIT: setting(
    rate('10:100'),
    'limit of reads of logs and objects of the deployments of one tenant in each API process, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_REPO_POLL_SECONDS: setting(
    z.coerce.number().int().min(0).max(86_400).default(300),
    'seconds between polls of each branch with build_on_push, in addition to webhooks. 0: poll only when the order of pushes is uncertain',
    HUB,
  ),
  BERTH_TRUST_PROXY: setting(
    proxies,
    'addresses or networks of proxies whose X-Forwarded-For is trusted, comma-separated. Unset: none',
    HUB,
  ),
  BERTH_DELETION_GRACE: setting(
    z.coerce.number().int().min(0).max(31_536_000).default(0),
    'seconds in which a deleted deployment can be restored. During this time, the pods of the deployment do not run. ' +
      'After this time, the data of the deployment is deleted',
    HUB,
  ),
  BERTH_GIT_ALLOW_PRIVATE: setting(
    flag,
    'true: git hosts of integrations may have private addresses. Unset: false',
    [...HUB, 'operator', 'build-step'],
  ),
  BERTH_LEASE_SECONDS: setting(
    count(60, 3),
    'seconds after which a listener that has not renewed its lease is lost',
    HUB,
  ),
  BERTH_OIDC_ISSUER: setting(
    baseUrl,
    'issuer of the identity provider at which people sign in: an https URL. Unset: only API keys sign in (docs/sign-in.md)',
    HUB,
  ),
  BERTH_OIDC_CLIENT_ID: setting(optional, 'client id of Berth at the identity provider', HUB),
  BERTH_OIDC_CLIENT_SECRET: secret(
    optional,
    'client secret of Berth at the identity provider. Unset: a public client, which only PKCE protects',
    HUB,
  ),
  BERTH_OIDC_SCOPES: setting(
    z.string().default('openid profile email'),
    'scopes that Berth requests from the identity provider, separated by spaces. Many providers need a scope for groups',
    HUB,
  ),
  BERTH_OIDC_GROUPS_CLAIM: setting(
    z.string().min(1).default('groups'),
    'claim of the ID token with the groups of a person: a name, or a path such as realm_access.roles',
    HUB,
  ),
  BERTH_OIDC_SIGNING_ALGORITHM: setting(
    z.enum(SIGNATURE_ALGORITHMS).default('RS256'),
    'the only signature algorithm that Berth accepts for ID tokens',
    HUB,
  ),
  BERTH_SESSION_SECONDS: setting(
    z.coerce.number().int().min(300).max(2_592_000).default(43_200),
    'seconds after which a session of a browser ends. The person then signs in again, and Berth reads the groups again',
    HUB,
  ),
  BERTH_SESSION_IDLE_SECONDS: setting(
    z.coerce.number().int().min(120).max(2_592_000).default(7_200),
    'seconds without a request after which a session of a browser ends',
    HUB,
  ),
  BERTH_TRACING_URL: setting(
    baseUrl,
    'HTTP URL of the tracing backend that receives tracing projects (docs/tracing.md)',
    HUB,
  ),
  BERTH_TRACING_TOKEN: secret(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
      .optional(),
    'bearer token for the tracing backend',
    HUB,
  ),
  BERTH_LOG_LEVEL: setting(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'lowest level that is logged',
  ),
} as const satisfies Record<string, Setting>;
