import type { GitHost } from '../../../domain/builds/git-host.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { RecordSpan } from '../../../domain/core/span.ts';
import type { HostingMode } from '../../../domain/deployment/source.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import type { KnownRoom } from '../../../domain/scheduling/known-room.ts';
import type { RegistryAuthority } from '../../registry/authority.ts';
import type { Database } from '../../store/core/database.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import type { WorkHints } from '../listeners/work-hints.ts';
import type { ApiObserver } from '../observe/observer.ts';
import type { RateLimits } from './rate-limit.ts';

/** A key that is not in the database: the listener of the same process calls with it. Lives as long as the process. */
export interface InternalKey {
  /** hub/store/tenancy/api-keys.ts hashApiKey of the key. */
  readonly hash: string;
  readonly scopes: readonly Scope[];
  /** Bound to no tenant. */
  readonly platform: true;
}

/** Everything that the API needs; nothing else is reached for. */
export interface ApiDeps {
  readonly database: Database;
  readonly secretBox: SecretBox;
  readonly policy: Policy;
  readonly hosting: HostingMode;
  readonly logger: Logger;
  /** Wakes long polls for work; fed from hub/store/core/notifications.ts. */
  readonly hints: WorkHints;
  /** Wakes who follows a log, by the id of its revision or request; fed likewise. Absent: they look by themselves. */
  readonly logHints?: WorkHints;
  /** How long a listener's lease lasts, in seconds. */
  readonly leaseSeconds: number;
  /** How long a deletion can be taken back, in seconds; default 0: not at all. */
  readonly deletionGraceSeconds?: number;
  /** Berth's version, for the documentation. */
  readonly version: string;
  /** Base URL under which clients reach this API; null: not known. */
  readonly publicUrl: string | null;
  /** Hosts of all parts of the platform, which no deployment may have; absent: that of publicUrl alone. */
  readonly platformHosts?: readonly string[];
  /** Asks the git hosts of integrations. */
  readonly gitHost: GitHost;
  /** In cloud mode, each deployment gets a host below this domain; null: none is given. */
  readonly appDomain: string | null;
  /** Namespace of Berth itself, which no deployment may go to; absent or null: not known. */
  readonly ownNamespace?: string | null;
  /** Registry of the platform, which internal images must be under; null: any. */
  readonly registry: string | null;
  /** false: repositories cannot be built here, and are refused; absent: they can. */
  readonly builds?: boolean;
  /** Says who may push to and pull from that registry; absent or null: the registry does not ask the hub. */
  readonly registryAuthority?: RegistryAuthority | null;
  /** How long credentials to push hold, in seconds; default: an hour. */
  readonly pushTokenSeconds?: number;
  readonly internalKey?: InternalKey | null;
  /** How often keys may call and addresses may fail; absent or null: without a limit. */
  readonly rateLimits?: RateLimits | null;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed; absent: nobody's. */
  readonly trustProxy?: readonly string[];
  /** Tenants whose tracing projects need no count for now; absent: they are counted for each deployment. */
  readonly projectRoom?: KnownRoom;
  /** Largest request body in bytes; default: the policy's. */
  readonly bodyLimit?: number;
  /** How long a request may take to arrive, in milliseconds; default: 30 s. */
  readonly requestTimeoutMs?: number;
  readonly clock?: () => Date;
  /** Told what is measured; absent: nobody is. */
  readonly observer?: ApiObserver;
  /** Takes spans of what is done for changes; absent: nobody asks for them. */
  readonly span?: RecordSpan;
}

/**
 * Largest body of a listener's call in bytes, whatever the policy says: that is for tenants. Inventories and reports
 * may have more (routes/listener-protocol.ts).
 */
export const LISTENER_BODY_LIMIT = 1024 * 1024;
