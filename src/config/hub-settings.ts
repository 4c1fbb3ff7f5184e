import { z } from 'zod';
import { dnsSubdomainSchema } from '../domain/kubernetes/names.ts';
import { HOSTING_MODES } from '../domain/source.ts';
import { rate, rateText } from './rates.ts';
import { HUB, type Setting, secret, setting } from './setting.ts';
import { baseUrl, count, csv, flag, optional, port, proxies } from './value-schemas.ts';

/** Settings of the hub (the API and the commands on its database), and the few that every role reads. */
export const HUB_SETTINGS = {
  DATABASE_URL: secret(
    optional,
    'PostgreSQL of the hub (api, migrate, keys): postgres://user:password@host/name; an ordinary role that owns it',
    HUB,
  ),
  BERTH_ALLOW_RLS_BYPASS: setting(
    flag,
    'true: the user of DATABASE_URL may be a superuser or have BYPASSRLS; unset: refused in cloud, warned of else',
    HUB,
  ),
  BERTH_DATABASE_POOL: setting(count(10), 'connections of each API process', HUB),
  BERTH_MIGRATION_WAIT_SECONDS: setting(
    count(0, 0),
    'how long the API waits at its start for the database and its migration, in seconds; 0: it fails at once',
    HUB,
  ),
  BERTH_HOST: setting(
    z.string().default('127.0.0.1'),
    'address that the API, and the health of each role, listen on',
  ),
  BERTH_PORT: setting(port(8080), 'port of the API; 0: a free one', HUB),
  BERTH_METRICS_PORT: setting(
    port(9090),
    'port of /metrics and of the health of listener and operator; 0: a free one',
  ),
  BERTH_PUBLIC_URL: setting(
    baseUrl,
    'base URL under which clients reach the API; the operator routes its host to no deployment',
    [...HUB, 'operator'],
  ),
  BERTH_APP_DOMAIN: setting(
    dnsSubdomainSchema.optional(),
    'cloud: each deployment gets the URL https://<app>.<this domain> as its custom_url; unset: none',
    HUB,
  ),
  BERTH_HOSTING: setting(
    z.enum(HOSTING_MODES).default('self_hosted'),
    'cloud or self_hosted; decides sources and policy',
  ),
  BERTH_POLICY: setting(optional, 'YAML file that changes the hosting mode’s policy', [...HUB, 'operator']),
  BERTH_ENCRYPTION_KEYS: secret(
    optional,
    'keys for secrets at rest, id:base64 of 32 bytes, comma-separated, the first one encrypts (api, keys)',
    HUB,
  ),
  BERTH_LOST_ENCRYPTION_KEYS: setting(
    csv,
    'ids of encryption keys that are gone for good: the API starts although what they sealed cannot be read',
    HUB,
  ),
  BERTH_BOOTSTRAP_API_KEY: secret(
    optional,
    'a first API key with all scopes, for the tenant BERTH_BOOTSTRAP_TENANT',
    HUB,
  ),
  BERTH_BOOTSTRAP_TENANT: setting(
    z.string().default('default'),
    'name of the tenant of the bootstrap key',
    HUB,
  ),
  BERTH_REGISTRY: setting(optional, 'registry of the platform; internal images must be under it', [
    ...HUB,
    'operator',
  ]),
  BERTH_REGISTRY_SIGNING_KEY: secret(
    optional,
    'the hub says who may push to and pull from that registry: PEM of an EC P-256 key (berth keys registry); of several the first signs, all are believed (docs/registry.md)',
    HUB,
  ),
  BERTH_PUSH_TOKEN_SECONDS: setting(
    z.coerce.number().int().min(60).max(86_400).default(3600),
    'how long credentials to push to that registry hold, in seconds',
    HUB,
  ),
  BERTH_RATE_LIMIT: setting(
    rateText.optional(),
    'calls of one API key in each API process, PER_SECOND:BURST or off; unset: 500:5000, in cloud 100:1000; listeners have ten times as much',
    HUB,
  ),
  BERTH_AUTH_FAILURE_LIMIT: setting(
    rate('1:60'),
    'calls without a valid API key from one address, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_WEBHOOK_LIMIT: setting(
    rate('10:300'),
    'deliveries of the webhooks of one integration in each API process, PER_SECOND:BURST or off',
    HUB,
  ),
  BERTH_REPO_POLL_SECONDS: setting(
    z.coerce.number().int().min(0).max(86_400).default(300),
    'how often the branches of deployments with build_on_push are looked at, beside webhooks; 0: only where a webhook’s push was not sure',
    HUB,
  ),
  BERTH_TRUST_PROXY: setting(
    proxies,
    'addresses or networks of proxies whose X-Forwarded-For is believed, comma-separated; unset: nobody’s',
    HUB,
  ),
  BERTH_DELETION_GRACE: setting(
    z.coerce.number().int().min(0).max(31_536_000).default(0),
    'seconds in which a deleted deployment can be restored, with nothing running; then its data goes',
    HUB,
  ),
  BERTH_GIT_ALLOW_PRIVATE: setting(
    flag,
    'true: git hosts of integrations may be on private addresses, for hosts on premises; unset: false',
    [...HUB, 'operator', 'build-step'],
  ),
  BERTH_LEASE_SECONDS: setting(count(60, 3), 'a listener that has not renewed for this long is lost', HUB),
  BERTH_TRACING_URL: setting(
    baseUrl,
    'tracing backend that is told of tracing projects over HTTP (docs/tracing.md)',
    HUB,
  ),
  BERTH_TRACING_TOKEN: secret(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
      .optional(),
    'bearer token for that backend',
    HUB,
  ),
  BERTH_LOG_LEVEL: setting(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'least level that is logged',
  ),
} as const satisfies Record<string, Setting>;
