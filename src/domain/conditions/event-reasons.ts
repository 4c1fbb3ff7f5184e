import { REASON_NAMES, type Reason } from './conditions.ts';

/** Which reasons the events of the history can have. docs/lifecycle.md lists them. */

/** Reasons that only conditions and Kubernetes Events have. */
export const CONDITION_REASONS = [
  'CacheAvailable',
  'ExternalCache',
  'CacheDisabled',
  'ImageGiven',
  'ImageResolving',
  'NoImage',
  'RolledBack',
  'Available',
  'Unavailable',
  'Converged',
  'Paused',
  'Resumed',
  'RouteExists',
  'RoutePending',
  'DomainsRouted',
  'DomainRoutePending',
  'DomainWithoutCertificate',
  'DomainUnknown',
  'SchedulesRunning',
  'ListenerNeverSeen',
] as const satisfies readonly Reason[];

/** A reason that an event of the history can have. */
export type EventReason = Exclude<Reason, (typeof CONDITION_REASONS)[number]>;

const OF_CONDITIONS: ReadonlySet<string> = new Set(CONDITION_REASONS);

export const EVENT_REASONS: readonly EventReason[] = REASON_NAMES.filter(
  (reason): reason is EventReason => !OF_CONDITIONS.has(reason),
);

const OF_EVENTS: ReadonlySet<string> = new Set(EVENT_REASONS);

/** Whether events can have this reason. */
export const isEventReason = (reason: string): reason is EventReason => OF_EVENTS.has(reason);

/** Returns `reason` if events can have it, otherwise `fallback`. */
export const eventReasonOr = (reason: string, fallback: EventReason): EventReason =>
  isEventReason(reason) ? reason : fallback;
