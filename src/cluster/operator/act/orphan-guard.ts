import { FIELD_MANAGERS } from '../../../contract/resource/names.ts';
import { fullJitter } from '../../../domain/core/backoff.ts';
import { ownerReferences } from '../../../workloads/owner.ts';
import { sleep, systemClock } from '../../kube/client/clock.ts';
import { isKubeError, type KubeError, type KubeErrorKind } from '../../kube/client/errors.ts';
import type { KubeObject, ObjectName, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES, type Resource, resourceOf } from '../../kube/client/resources.ts';
import { isOurs } from '../observe/ownership.ts';
import { readParent } from '../observe/parent.ts';
import type { Execution } from './execute.ts';
import { assertLeading, type LeadershipFence } from './leadership-fence.ts';

type Caller = Pick<Execution, 'client' | 'resource' | 'signal'>;
type Fenced = Caller & LeadershipFence;

/** One POST of an object without an owner. */
interface Post {
  readonly kind: Resource;
  readonly at: ObjectName;
  /** Uid of the created object; undefined: no response was received, and the object may or may not exist. */
  uid?: string | undefined;
}

/** Errors after which the object may exist. */
const UNSURE: readonly KubeErrorKind[] = ['server', 'timeout', 'network', 'aborted'];
/** Errors that may be temporary. */
const TEMPORARY: readonly KubeErrorKind[] = [
  'server',
  'timeout',
  'network',
  'too_many_requests',
  'unauthorized',
  'conflict',
  'not_found',
];
const BACKOFF = { baseMs: 200, capMs: 5_000 };

/**
 * Prevents orphans: objects without an owner that are created after their deployment was deleted.
 *
 * A POST has no precondition. A delayed POST can therefore create its object after the deployment was deleted, and no
 * deletion removes an object without an owner. The operator records each POST of an object without an owner before the
 * call, and reads the custom resource again after the call. If the custom resource no longer exists, the object gets an
 * owner reference to the deleted resource, so that the garbage collector removes the object. If the custom resource is
 * deleted later, the deletion finds the object.
 *
 * If the operator crashes between the two calls, the hub removes the object, because the hub checks each deletion a
 * second time.
 */
export class OrphanGuard {
  readonly #mayAct: LeadershipFence['mayAct'];
  readonly #sent = new Set<Post>();
  #caller: Caller | undefined;

  constructor(mayAct: LeadershipFence['mayAct']) {
    this.#mayAct = mayAct;
  }

  /** @throws KubeError */
  async create(object: KubeObject, caller: Caller): Promise<KubeObject> {
    const { client, signal } = caller;
    const options = { fieldManager: FIELD_MANAGERS.operator, signal };
    if (object.metadata.ownerReferences !== undefined) return await client.create(object, options);
    const { name, namespace } = object.metadata;
    const post: Post = { kind: resourceOf(object), at: { name, namespace } };
    this.#caller = caller;
    this.#sent.add(post);
    try {
      const made = await client.create(object, options);
      post.uid = made.metadata.uid;
      return made;
    } catch (error) {
      if (isKubeError(error) && (error.notProcessed || !UNSURE.includes(error.kind))) this.#sent.delete(post);
      throw error;
    }
  }

  /**
   * Called when the API server has accepted a write of the custom resource in the version that was read. The resource
   * exists, so objects that were created before this write are not orphans.
   */
  confirmResource(): void {
    for (const post of this.#sent) if (post.uid !== undefined) this.#sent.delete(post);
  }

  /**
   * Checks all recorded POSTs. Retries temporary errors until the signal fires, because a deleted resource is not
   * reconciled again.
   * @throws KubeError
   */
  async collectOrphans(): Promise<void> {
    if (this.#caller === undefined) return;
    const { client, resource, signal } = this.#caller;
    const caller = { client, resource, signal, mayAct: this.#mayAct };
    // guard: orphan-check-after-posts
    for (let failures = 0; this.#sent.size > 0; failures += 1) {
      assertLeading(caller);
      try {
        await this.#check(caller);
      } catch (error) {
        if (!isKubeError(error, ...TEMPORARY)) throw error;
        const pauseMs = Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random));
        await sleep(systemClock, pauseMs, caller.signal);
        if (caller.signal.aborted) throw error;
      }
    }
  }

  async #check(caller: Fenced): Promise<void> {
    if (await isThere(caller)) return this.#sent.clear();
    const errors: KubeError[] = [];
    for (const post of [...this.#sent].sort((a, b) => Number(isClaim(b)) - Number(isClaim(a)))) {
      if (!this.#sent.has(post)) return;
      // Credentials are handled like their volume claim. The credentials remain if the claim remains.
      if (post.kind === RESOURCES.Secret && [...this.#sent].some(isClaim)) continue;
      try {
        await this.#disown(post, caller);
      } catch (error) {
        if (!isKubeError(error) || error.kind === 'aborted') throw error;
        errors.push(error);
      }
    }
    const [first] = errors;
    if (first !== undefined) throw errors.find(({ kind }) => TEMPORARY.includes(kind)) ?? first;
  }

  /**
   * Adds an owner reference so that the garbage collector removes the object. The object is read before the custom
   * resource. If another resource adopts the object later, the resourceVersion differs from that in the patch, and the
   * patch is rejected.
   */
  async #disown(post: Post, caller: Fenced): Promise<void> {
    const { client, resource, signal } = caller;
    const object = await client.find<UntypedObject>(post.kind, post.at, { signal });
    if (object !== undefined && !isOwnedBy(resource, object)) {
      if (await isThere(caller)) return this.#sent.clear();
      if (isStillOf(post, object, resource)) {
        assertLeading(caller);
        const { uid, resourceVersion } = object.metadata;
        const patch = { metadata: { uid, resourceVersion, ...ownerReferences(resource) } };
        await client.patch(post.kind, post.at, patch, { fieldManager: FIELD_MANAGERS.operator, signal });
      } else if (isClaim(post)) return this.#sent.clear();
    }
    this.#sent.delete(post);
  }
}

function isClaim({ kind }: Post): boolean {
  return kind === RESOURCES.PersistentVolumeClaim;
}

/** Whether the deployment has a custom resource: the known resource, or a resource that was created again. */
async function isThere(caller: Caller): Promise<boolean> {
  const { resource } = caller;
  const live = await readParent(caller);
  if (live === undefined) return false;
  const { deploymentId } = resource.spec;
  // Without an id of the hub, a resource that was created again is another deployment.
  if (deploymentId === undefined) return live.metadata.uid === resource.metadata.uid;
  return (live['spec'] as { deploymentId?: string } | undefined)?.deploymentId === deploymentId;
}

function isOwnedBy(
  resource: Caller['resource'],
  { metadata: { ownerReferences = [] } }: KubeObject,
): boolean {
  return ownerReferences.some(({ uid }) => uid === resource.metadata.uid);
}

/**
 * Whether this POST created the object. An object that is older than the custom resource was retained from an earlier
 * resource.
 */
function isStillOf(post: Post, object: KubeObject, resource: Caller['resource']): boolean {
  const { uid, ownerReferences: owners = [], creationTimestamp = '' } = object.metadata;
  if (owners.length > 0) return false;
  if (post.uid !== undefined) return uid === post.uid;
  return isOurs(object, resource) && creationTimestamp >= (resource.metadata.creationTimestamp ?? '');
}
