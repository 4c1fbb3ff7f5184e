/** Guards: parts of the code without which some fault plan breaks. */

/** Rules of the code, as docs/reliability.md and the decisions have them. */
export const GUARD_RULES = {
  memory: 'memory is only a cache',
  'compare-and-set': 'writes to PostgreSQL are compare-and-set',
  fence: 'a lease is for liveness only, and writes are fenced',
  cache: 'no action is based on an old cache, and Berth takes over only its own objects',
  outcome: 'each call has a typed outcome, which decides when it is retried',
  durable: 'an acknowledged change is durable and is carried out once',
} as const;
type GuardRule = keyof typeof GUARD_RULES;

interface GuardEntry {
  /** What the guard ensures, in one sentence. */
  readonly says: string;
  /** Replaces the guarded lines, if the program cannot run without them. Absent: they are deleted. */
  readonly instead?: string;
  /** Names of plans. Each of them breaks without the guard; they are tried in this order, until one has. */
  readonly plans: readonly string[];
}

/** A precondition, fence, retry or check of a cache's age. A marker comment in `src` with its name precedes it. */
export interface Guard extends GuardEntry {
  readonly name: string;
  readonly rule: GuardRule;
}

const BY_RULE: Readonly<Record<GuardRule, Readonly<Record<string, GuardEntry>>>> = {
  fence: {
    'uid-in-applies': {
      says: 'An apply that was decided for a deleted object does not create the object again.',
      plans: ['deletion/paused/operator-apply'],
    },
    'preconditions-of-deletes': {
      says: 'A delete that was decided for one object does not delete another object with the same name.',
      plans: ['two-of-each/operator/delete-of-a-former-autoscaler'],
    },
    'create-only-if-absent': {
      says: 'A creation does not overwrite an existing object with the same name.',
      plans: ['immutable/foreign/services', 'immutable/foreign/deployments'],
    },
    'orphan-check-after-posts': {
      says: 'If an object without an owner was created after its deployment was deleted, the garbage collector removes it.',
      plans: [
        'deletion/afterwards/operator-create-persistentvolumeclaims-shop-x-db-1',
        'deletion/afterwards/operator-create-secrets-shop-x-db-1',
      ],
    },
    'term-expires-by-own-clock': {
      says: 'An operator that was suspended past the end of its lease notices this by its own clock, and writes nothing more.',
      plans: ['two-of-each/operator/resumed'],
    },
    'version-in-lease-writes': {
      says: 'An operator does not overwrite a lease that another operator has taken meanwhile.',
      instead: [
        'const at = await client.find<Lease>(RESOURCES.Lease, this.#options.lease, { timeoutMs });',
        'next.metadata = { ...next.metadata, resourceVersion: at?.metadata.resourceVersion };',
        'this.#observe(await client.replace(next, { timeoutMs }));',
      ].join('\n'),
      plans: ['two-of-each/operator/lease-of-the-successor'],
    },
    'operator-checks-lease-before-writes': {
      says: 'An operator that stalled between two writes notices that its lease has expired, even before its timers fire.',
      plans: ['two-of-each/operator/stalled'],
    },
    'version-in-status-writes': {
      says: 'A status that was derived from an older resource does not replace a newer one.',
      instead: [
        'metadata: { name, namespace, uid, resourceVersion: (await client.get(',
        "(await import('../../kube/client/resources.ts')).RESOURCES.ManagedDeployment, resource.metadata, { signal },",
        ')).metadata.resourceVersion },',
      ].join('\n'),
      plans: ['burst/changed-before-stored'],
    },
    'lease-expires-by-own-clock': {
      says: 'A listener that was suspended past the end of its lease notices this by its own clock, and writes nothing more.',
      instead:
        'return Math.max(1_000, Math.min(validUntil - clock.now(), validUntilDate - clock.date().getTime()));',
      plans: ['two-of-each/listener/resumed'],
    },
    'listener-checks-lease-before-writes': {
      says: 'A listener that stalled between two writes notices that its lease has expired, even before its timers fire.',
      plans: ['two-of-each/listener/stalled'],
    },
    'uid-in-applies-of-listener': {
      says: 'An apply that was decided for a deleted custom resource does not create the resource again.',
      plans: ['deletion/paused/listener-apply'],
    },
    'version-in-applies-of-listener': {
      says: 'An apply of an earlier desired state does not undo a later one.',
      plans: ['two-of-each/listener/update/apply-manageddeployments-shop-x/later-change'],
    },
  },
  cache: {
    'labels-before-adoption': {
      says: 'Berth does not take over an object without its labels, but reports a conflict.',
      instead: 'return await adopt(action, found, input);',
      plans: ['immutable/foreign/services', 'immutable/foreign/deployments'],
    },
    'read-before-creating': {
      says: 'The operator creates nothing for a custom resource that no longer exists in the API server.',
      plans: ['deletion/unseen/operator'],
    },
    'read-after-start': {
      says: 'After its start, the operator changes nothing before it has read the custom resource from the API server.',
      plans: ['stale-list/scaled-up-again/operator-custom-resources'],
    },
    'rollout-recorded-before-writes': {
      says: 'The operator records a rollout in the status of the version that it has read before it changes workloads.',
      plans: ['burst/changed-before-recorded'],
    },
    'caches-show-own-writes': {
      says: 'The operator does not reconcile a deployment before its caches contain its own last writes.',
      plans: ['watch/unseen/own-delete'],
    },
    'stale-lists-rejected': {
      says: 'If a list is older than data that was already received, it is requested again.',
      instead: 'const MAX_STALE_LISTS = 0;',
      plans: ['stale-list/after-410/operator'],
    },
    'custom-resource-of-another': {
      says: 'The listener does not overwrite a custom resource of another deployment with the same name, but reports a conflict.',
      plans: ['immutable/foreign/manageddeployments'],
    },
    'purge-of-another': {
      says: 'The listener does not delete a custom resource of another deployment with the same name.',
      plans: ['immutable/foreign/manageddeployments'],
    },
  },
  memory: {
    'list-again-after-410': {
      says: 'If the API server no longer has the resource version of a watch, the watch starts again with a list.',
      plans: ['watch/gone-until-listed/operator'],
    },
    'silent-watch-ends': {
      says: 'A watch that delivers nothing for 90 s counts as dead.',
      instead: 'const IDLE_TIMEOUT_MS = 900_000;',
      plans: ['watch/silent-streams/operator'],
    },
    'rescan-after-listen': {
      says: 'After LISTEN is active again, the process checks for changes that it has missed.',
      plans: ['postgres/cut/listen'],
    },
    'poll-without-notification': {
      says: 'A waiting request checks for work every 5 s, even without a notification.',
      instead: 'const REQUERY_MS = 500_000;',
      plans: ['notify/lost/update'],
    },
  },
  outcome: {
    'failed-reconcile-retried': {
      says: 'A call that may succeed later is retried.',
      instead: 'const delayMs = minDelayMs ?? 0;',
      plans: ['status-codes/operator/apply/burst', 'status-codes/listener/create/burst'],
    },
    'retry-after': {
      says: 'A client that gets Retry-After does not retry before this time.',
      instead: 'const minDelayMs = undefined;',
      plans: ['status-codes/operator/apply/throttled'],
    },
    'rejected-writes-wait': {
      says: 'A request that the cluster has rejected is not sent again before its backoff ends, even if events arrive meanwhile.',
      plans: ['status-codes/operator/create/invalid'],
    },
    'backoff-grows': {
      says: 'The pauses between retries grow.',
      plans: ['status-codes/operator/apply/lasting'],
    },
    'drain-on-sigterm': {
      says: 'Work that is in progress at SIGTERM is completed.',
      plans: ['sigterm/operator/busy'],
    },
    'lease-released-on-stop': {
      says: 'A process that stops in an orderly way releases its lease, so its successor does not wait until the lease expires.',
      plans: ['sigterm/operator/busy', 'sigterm/operator/idle'],
    },
  },
  'compare-and-set': {
    'epoch-of-reports': {
      says: 'The hub rejects a report of a former lease holder.',
      plans: ['two-of-each/listener/report-of-a-former-term'],
    },
    'seq-of-reports': {
      says: 'A report that arrives a second time changes nothing.',
      plans: ['lost-response/repeated-report'],
    },
    'observed-generation-grows': {
      says: 'An observation of an earlier generation does not replace an observation of a later one.',
      plans: ['stale-list/another-revision/listener'],
    },
    'acknowledged-generation-exists': {
      says: 'A generation cannot be acknowledged before it exists.',
      plans: ['two-of-each/listener/acknowledged-ahead'],
    },
    'lock-of-changes': {
      says: 'Simultaneous changes of a deployment are applied one after the other, and none is rejected because of another.',
      plans: ['burst/at-once'],
    },
    'epoch-of-renewals': {
      says: 'A former lease holder can neither take the lease back by a late renewal, nor release it for the current holder.',
      plans: ['two-of-each/listener/lease-of-a-former-term'],
    },
    'epoch-of-inventories': {
      says: 'An inventory of a former lease holder does not mark anything as missing.',
      plans: ['two-of-each/listener/inventory-of-a-former-term'],
    },
    'epoch-of-work': {
      says: 'The hub hands no work to a former lease holder, and the lease cannot change while work is handed out.',
      plans: ['two-of-each/listener/work-of-a-former-holder'],
    },
  },
  durable: {
    'recorded-release-decides': {
      says: 'A release command whose Job was recorded does not start again, also if its Job and its task are gone.',
      plans: ['tasks/release/task-deleted', 'tasks/release/job-deleted'],
    },
    'revision-waits-for-former-release': {
      says: 'The release command of a revision does not start while that of an earlier revision runs.',
      plans: ['tasks/release/racing'],
    },
    'recorded-job-is-not-created-again': {
      says: 'A task whose Job was recorded has no other Job, also if the Job is gone.',
      instead:
        'if (own === null) return stop === null ? beforeJob(observed, policy, now) : stopped(observed, stop, now);',
      plans: ['tasks/task/job-deleted'],
    },
    'hub-permits-volume-removal': {
      says: 'The listener deletes the volume of a database only if the latest desired state at the hub confirms it.',
      plans: ['deletion/volume/taken-back'],
    },
    'begun-removal-stays': {
      says: 'The confirmation to remove a volume cannot be taken back after the removal has begun.',
      plans: ['deletion/volume/begun'],
    },
    'work-of-former-holder': {
      says: 'The hub hands out unfinished work of a listener that died to the next listener at once.',
      plans: ['kill/update/listener-apply-manageddeployments-shop-x-1/before-send'],
    },
    'lost-work-handed-out-again': {
      says: 'If the response with work is lost, the hub hands out the work again at once.',
      plans: ['lost-response/work'],
    },
    'idempotency-key': {
      says: 'A POST that is repeated with its Idempotency-Key gets the response of the first one.',
      plans: ['lost-response/http/create'],
    },
    'lost-record-of-a-release': {
      says: 'If the status of a deployment is lost after its release command has ended, the result of the command is used.',
      instead: 'if (hasTaskEnded(task)) return notStarted(task);',
      plans: ['kubectl/release/status-lost-while-paused'],
    },
  },
};

export const GUARDS: readonly Guard[] = Object.entries(BY_RULE).flatMap(([rule, entries]) =>
  Object.entries(entries).map(([name, entry]) => ({ name, rule: rule as GuardRule, ...entry })),
);
