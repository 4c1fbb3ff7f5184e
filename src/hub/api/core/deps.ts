import type { AccessPolicy } from '../../../domain/access/access-policy.ts';
import type { IdentityProvider } from '../../../domain/access/identity-provider.ts';
import type { WorkloadVerifier } from '../../../domain/access/workload-verifier.ts';
import type { GitHost } from '../../../domain/builds/git-host.ts';
import type { Logger } from '../../../domain/core/logger.ts';
import type { RecordSpan } from '../../../domain/core/span.ts';
import type { HostingMode } from '../../../domain/deployment/source.ts';
import type { Policy } from '../../../domain/policy/policy.ts';
import type { RegistryAuthority } from '../../registry/authority.ts';
import type { Database } from '../../store/core/database.ts';
import type { SecretBox } from '../../store/secrets/secret-box.ts';
import type { Scope } from '../../store/tenancy/api-keys.ts';
import type { KnownRoom } from '../../store/tenancy/known-room.ts';
import type { WorkHints } from '../listeners/work-hints.ts';
import type { ApiObserver } from '../observe/observer.ts';
import type { SessionTimes } from '../sign-in/session-finder.ts';
import type { SourceStore } from '../sources/source-store.ts';
import type { ChangeHints } from '../watch/change-hints.ts';
import type { RateLimits } from './rate-limit.ts';

/**
 * A key that is not in the database. The listener in the same process uses the key. The key is valid until the process
 * ends.
 */
export interface InternalKey {
  /** The hash of the key (hub/store/tenancy/api-keys.ts, hashApiKey). */
  readonly hash: string;
  readonly scopes: readonly Scope[];
  /** The key belongs to no tenant. */
  readonly platform: true;
}

/** Settings of sign-in. */
export interface SignInOptions extends SessionTimes {
  /** null: people cannot sign in, only API keys. */
  readonly provider: IdentityProvider | null;
  /** Claim of the ID token that contains the groups of the person. */
  readonly groupsClaim: string;
}

/** All dependencies of the API. */
export interface ApiDeps {
  readonly database: Database;
  readonly secretBox: SecretBox;
  readonly policy: Policy;
  /** The roles of people and workloads, which change without a restart; absent: those of `policy`. */
  readonly access?: () => AccessPolicy;
  /** Verifies tokens of pipelines and service accounts; absent or null: the API has no public URL. */
  readonly workloads?: WorkloadVerifier | null;
  readonly hosting: HostingMode;
  readonly logger: Logger;
  /** Wakes long polls for work. hub/store/core/notifications.ts provides the notifications. */
  readonly hints: WorkHints;
  /** Wakes followers of a log, by the id of its revision or request. Without these hints, followers poll. */
  readonly logHints?: WorkHints;
  /** Wakes streams of events. Without these hints, streams poll. */
  readonly eventHints?: WorkHints;
  /** Sign-in in browsers; absent: only with API keys, and with default lifetimes of sessions. */
  readonly signIn?: SignInOptions;
  /**
   * Wakes streams whose callers may have lost their rights, by the id of the session or token, or all after a change of
   * roles. Without these hints, streams poll.
   */
  readonly accessHints?: WorkHints;
  /** Passes changes to streams of changes. Without these hints, the streams find changes with their sweeps. */
  readonly changeHints?: ChangeHints;
  /** Time between two sweeps of streams of changes, in milliseconds; default: 10 s. */
  readonly sweepMs?: number;
  /** Time within which a listener must send objects, in milliseconds; default: 20 s. */
  readonly objectAnswerMs?: number;
  /** Duration of a listener's lease, in seconds. */
  readonly leaseSeconds: number;
  /** Grace period of a deletion, in seconds; default 0: a deletion cannot be undone. */
  readonly deletionGraceSeconds?: number;
  /** Berth's version, for the OpenAPI document. */
  readonly version: string;
  /** Base URL under which clients reach this API; null: not known. */
  readonly publicUrl: string | null;
  /** The built web console; absent or null: it is switched off. */
  readonly console?: { readonly folder: string } | null;
  /** Hosts of all parts of the platform, which deployments must not use; absent: only the host of publicUrl. */
  readonly platformHosts?: readonly string[];
  /** Client of the git hosts of integrations. */
  readonly gitHost: GitHost;
  /** In cloud mode, each deployment gets a host below this domain; null: no host. */
  readonly appDomain: string | null;
  /** Namespace of Berth itself, which no deployment may use; absent or null: not known. */
  readonly ownNamespace?: string | null;
  /** Registry of the platform, which must host internal images; null: any registry. */
  readonly registry: string | null;
  /** false: this installation cannot build repositories and rejects them; absent: it can build them. */
  readonly builds?: boolean;
  /** Issues tokens for the registry; absent or null: the registry does not use the hub. */
  readonly registryAuthority?: RegistryAuthority | null;
  /** Stores uploaded folders; absent or null: this installation stores none. */
  readonly sourceStore?: SourceStore | null;
  /** How long an upload waits for its turn, in milliseconds; default: 20 s. */
  readonly uploadWaitMs?: number;
  /** How long an upload keeps its place while other tenants wait, in milliseconds; default: a minute. */
  readonly uploadKeptMs?: number;
  /** Time in which the next part of an upload must arrive, in milliseconds; default: 30 s. */
  readonly uploadIdleMs?: number;
  /** Lifetime of push credentials, in seconds; default: one hour. */
  readonly pushTokenSeconds?: number;
  readonly internalKey?: InternalKey | null;
  /** Rate limits of keys and of failures per address; absent or null: no limits. */
  readonly rateLimits?: RateLimits | null;
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted; absent: none. */
  readonly trustProxy?: readonly string[];
  /**
   * Tenants whose number of tracing projects is below the limit, so that the count can be skipped; absent: each
   * creation of a deployment counts them.
   */
  readonly projectRoom?: KnownRoom;
  /** Largest request body in bytes; default: the limit of the policy. */
  readonly bodyLimit?: number;
  /** Time for a request to arrive, in milliseconds; default: 30 s. */
  readonly requestTimeoutMs?: number;
  readonly clock?: () => Date;
  /** Receives measurements; absent: nothing is measured. */
  readonly observer?: ApiObserver;
  /** Receives spans of changes; absent: no spans are recorded. */
  readonly span?: RecordSpan;
}

/**
 * Largest body of a call of a listener in bytes. The limit of the policy applies to tenants only. Inventories and
 * reports have a larger limit (listener-protocol-routes.ts).
 */
export const LISTENER_BODY_LIMIT = 1024 * 1024;
