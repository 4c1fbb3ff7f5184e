import type { Condition, Reason } from '../../../domain/conditions/conditions.ts';
import type {
  Deployment,
  Secret,
  SourceConfig,
  SourceRevisionConfig,
} from '../../../domain/deployment/deployment.ts';
import type { DeploymentType, Source } from '../../../domain/deployment/source.ts';
import type { QuotaUsage } from '../../../domain/policy/quota-usage.ts';
import type { FormerSize } from '../../../domain/resource-spec/former-sizes.ts';
import type { DeploymentStatus, ListenerStatus, RevisionStatus } from '../../../domain/revision/states.ts';
import type { ComputeConfig } from '../schema/listeners.ts';
import type { Actor } from './events.ts';

/** Sealed secrets with what they are bound to; `openSecrets` of secret-box.ts opens them. */
export interface SealedSecrets {
  id: string;
  tenantId: string;
  deploymentId: string;
  keyId: string;
  sealed: Buffer;
}

/** A deployment with all that an answer shows of it; one query, lists included. */
export interface DeploymentRecord extends Deployment {
  /** Derived at reading (see status.ts). */
  status: DeploymentStatus;
  /** Of the latest revision; before the first one: as sent. */
  sourceRevisionConfig: SourceRevisionConfig;
  /** Of the latest revision; before the first one: as sent. null: none. */
  secrets: SealedSecrets | null;
  deploymentType: DeploymentType | null;
  imageVersion: string | null;
  hasRunnableRevision: boolean;
  /** The generation that the listener has brought to the cluster; 0: none. */
  acknowledgedGeneration: number;
  deleteTracingProject: boolean;
  /** As last reported: those of the observation, or of a refusal before or after it. */
  conditions: Condition[];
  /** Capacity of the database's volume in Gi, while it differs from what is wanted; null: it does not, or is not known. */
  volumeGi: number | null;
  /** Sizes of the database's volume that were in effect before, as far as they are accepted again. */
  formerSizes: readonly FormerSize[];
  listener: {
    everSeen: boolean;
    /** Holds a lease, its cluster answers, and it has told what it found there. */
    alive: boolean;
    lastSeenAt: Date | null;
    leased: boolean;
    /** It was away, and has not told yet what it finds; absent: it has. */
    returning?: boolean;
    /** Why it does not see the deployment's namespace; '': its list lacks it; null or absent: it does. */
    unseen?: string | null;
    /** Where it is not alive: since when. */
    lostAt: Date | null;
  };
}

/**
 * Secrets of a new revision: given anew, or those of an existing set of the same deployment
 * (unchanged on PATCH, an older revision's on rollback; `id: null`: none).
 */
export type SecretsSource =
  | { readonly kind: 'values'; readonly secrets: readonly Secret[] }
  | { readonly kind: 'set'; readonly id: string | null };

/** A revision to be made; its number is the store's to choose. */
export interface NewRevision {
  /** UUID v7. */
  id: string;
  status: RevisionStatus;
  reason?: string;
  message?: string;
  resolvedImage?: string;
}

/** A deployment to be made. */
export interface NewDeployment {
  /** UUID v7. */
  id: string;
  name: string;
  source: Source;
  sourceConfig: SourceConfig;
  sourceRevisionConfig: SourceRevisionConfig;
  secrets: readonly Secret[];
  /** contract/resource/names.ts appName(name, id). */
  appName: string;
  namespace: string;
  listenerId: string;
  imageVersion: string | null;
  /** null: internal_image without an image. */
  revision: NewRevision | null;
  /** What it counts for in the tenant's quotas; absent: it is measured when that is asked for. */
  usage?: QuotaUsage;
  actor: Actor;
}

/** The whole of what is wanted after a change, merged by the caller. */
export interface WantedChange {
  /** The generation that the change was decided on; another one now: StaleWrite. */
  expectedGeneration: number;
  sourceConfig: SourceConfig;
  sourceRevisionConfig: SourceRevisionConfig;
  secrets: SecretsSource;
  imageVersion: string | null;
  /** null: no new revision. */
  revision: NewRevision | null;
  /** What it counts for in the tenant's quotas; absent: it is measured when that is asked for. */
  usage?: QuotaUsage;
  /** Former sizes of the database's volume, where its size changes; absent: they stay. */
  formerSizes?: readonly FormerSize[] | undefined;
  actor: Actor;
  /** Of the event; default Patched. */
  reason?: Reason;
  /** For the event; names of changed fields, never a value of a secret. */
  message: string;
  details?: Record<string, unknown>;
}

/** A listener as answers show it. */
export interface ListenerRecord {
  id: string;
  /** null: the platform's. */
  tenantId: string | null;
  computeType: string;
  computeId: string;
  computeConfig: ComputeConfig;
  version: string | null;
  clusterVersion: string | null;
  /** The cluster that the listener is for (domain/deployment/cluster-id.ts); null: the next one to tell. */
  clusterId: string | null;
  clusterReachable: boolean;
  /** As reported with the lease (contract/render/render-config.ts); null: none yet. */
  rendering: unknown;
  /** Ids of custom resources in the cluster that belong to no deployment. */
  unknownResources: string[];
  everSeen: boolean;
  /** Holds a lease that has not run out, and its cluster answers: the status is CONNECTED. */
  alive: boolean;
  /** Derived from the lease at reading. */
  status: ListenerStatus;
  lastSeenAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A page of a list: `limit` rows after skipping `offset`. */
export interface Page {
  limit: number;
  offset: number;
}
