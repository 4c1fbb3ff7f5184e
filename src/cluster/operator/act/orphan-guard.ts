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
import { assertMayAct, type MayAct } from './leadership-fence.ts';

type Caller = Pick<Execution, 'client' | 'resource' | 'signal'>;
type Fenced = Caller & MayAct;

/** One POST of what has no owner. */
interface Post {
  readonly kind: Resource;
  readonly at: ObjectName;
  /** Of what was made; undefined: there was no answer, and it was made or not. */
  uid?: string | undefined;
}

/** After these the object may be there all the same. */
const UNSURE: readonly KubeErrorKind[] = ['server', 'timeout', 'network', 'aborted'];
const PASSING: readonly KubeErrorKind[] = [
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
 * Nothing fences a POST: held up on its way it makes its object although the whole deployment was deleted meanwhile, and
 * what has no owner is taken along by nobody. So such a POST is remembered before it is sent, and the custom resource is
 * read once more afterwards. Where none of the deployment is there, what was made is given to the one that is gone: the
 * garbage collector sees for itself that it is, and removes it. Whatever deletes the resource later finds the object anyway.
 *
 * An operator that dies in between leaves it to the hub, which has each deletion looked at a second time.
 */
export class Posts {
  readonly #mayAct: MayAct['mayAct'];
  readonly #sent = new Set<Post>();
  #caller: Caller | undefined;

  constructor(mayAct: MayAct['mayAct']) {
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
   * The server has just taken a write of the custom resource as it was read: it is there, and so are the objects that the
   * server had made before. That is as good as the second look.
   */
  resourceIsThere(): void {
    for (const post of this.#sent) if (post.uid !== undefined) this.#sent.delete(post);
  }

  /**
   * The second look. What passes by itself is tried again until the signal: nobody else comes back to a resource that is
   * gone.
   * @throws KubeError
   */
  async lookAgain(): Promise<void> {
    if (this.#caller === undefined) return;
    const { client, resource, signal } = this.#caller;
    const caller = { client, resource, signal, mayAct: this.#mayAct };
    for (let failures = 0; this.#sent.size > 0; failures += 1) {
      assertMayAct(caller);
      try {
        await this.#leave(caller);
      } catch (error) {
        if (!isKubeError(error, ...PASSING)) throw error;
        const pauseMs = Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random));
        await sleep(systemClock, pauseMs, caller.signal);
        if (caller.signal.aborted) throw error;
      }
    }
  }

  async #leave(caller: Fenced): Promise<void> {
    if (await isThere(caller)) return this.#sent.clear();
    const errors: KubeError[] = [];
    for (const post of [...this.#sent].sort((a, b) => Number(isClaim(b)) - Number(isClaim(a)))) {
      if (!this.#sent.has(post)) return;
      // Credentials go after their volume claim: with one that stays, they stay.
      if (post.kind === RESOURCES.Secret && [...this.#sent].some(isClaim)) continue;
      try {
        await this.#giveAway(post, caller);
      } catch (error) {
        if (!isKubeError(error) || error.kind === 'aborted') throw error;
        errors.push(error);
      }
    }
    const [first] = errors;
    if (first !== undefined) throw errors.find(({ kind }) => PASSING.includes(kind)) ?? first;
  }

  /**
   * The object is read before the custom resource: whoever adopts it after that, and changes it, has a later version than
   * the patch names.
   */
  async #giveAway(post: Post, caller: Fenced): Promise<void> {
    const { client, resource, signal } = caller;
    const object = await client.find<UntypedObject>(post.kind, post.at, { signal });
    if (object !== undefined && !isOwnedBy(resource, object)) {
      if (await isThere(caller)) return this.#sent.clear();
      if (isStillOf(post, object, resource)) {
        assertMayAct(caller);
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

/** Whether the deployment has a custom resource: this one, or one that was made again. */
async function isThere(caller: Caller): Promise<boolean> {
  const { resource } = caller;
  const live = await readParent(caller);
  if (live === undefined) return false;
  const { deploymentId } = resource.spec;
  // Without a record, one that was made again is another deployment.
  if (deploymentId === undefined) return live.metadata.uid === resource.metadata.uid;
  return (live['spec'] as { deploymentId?: string } | undefined)?.deploymentId === deploymentId;
}

function isOwnedBy(
  resource: Caller['resource'],
  { metadata: { ownerReferences = [] } }: KubeObject,
): boolean {
  return ownerReferences.some(({ uid }) => uid === resource.metadata.uid);
}

/** What is older than the custom resource was kept of an earlier one, with its data: that is not what was POSTed. */
function isStillOf(post: Post, object: KubeObject, resource: Caller['resource']): boolean {
  const { uid, ownerReferences: owners = [], creationTimestamp = '' } = object.metadata;
  if (owners.length > 0) return false;
  if (post.uid !== undefined) return uid === post.uid;
  return isOurs(object, resource) && creationTimestamp >= (resource.metadata.creationTimestamp ?? '');
}
