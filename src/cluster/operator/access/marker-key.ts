import { createHmac, randomBytes } from 'node:crypto';
import { FIELD_MANAGERS, LABELS, MANAGED_BY, MARKER_KEY_SECRET } from '../../../contract/resource/names.ts';
import { isKubeError } from '../../kube/client/errors.ts';
import type { KubeObject, UntypedObject } from '../../kube/client/object.ts';
import { RESOURCES } from '../../kube/client/resources.ts';
import type { WriteClient } from '../act/execute.ts';

/**
 * The key of the markers that show a changed value of a referenced Secret. A plain hash on a pod template would let readers
 * of pods test guesses of a value. The key is in a Secret in the namespace of Berth, which tenants cannot read. The first
 * operator that needs the key creates the Secret, and never changes it, because another key would replace all pods with
 * references once.
 */

const KEY_BYTES = 32;
const DATA_KEY = 'key';
const MARKER_DIGITS = 32;

/** Computes the marker of one value. */
export type MarkerOf = (secret: { namespace: string; name: string; key: string }, value: string) => string;

export class MarkerKey {
  readonly #client: Pick<WriteClient, 'find' | 'create'>;
  readonly #namespace: string;
  #key: Promise<Buffer> | undefined;

  /** @param namespace namespace of Berth itself */
  constructor(client: Pick<WriteClient, 'find' | 'create'>, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /**
   * Reads the key once, and creates it if it does not exist.
   * @throws KubeError when the Secret cannot be read or created; Error when it has no valid key
   */
  async markerOf(signal: AbortSignal): Promise<MarkerOf> {
    this.#key ??= this.#load(signal).catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    const key = await this.#key;
    return ({ namespace, name, key: dataKey }, value) =>
      createHmac('sha256', key)
        .update(JSON.stringify([namespace, name, dataKey, value]))
        .digest('hex')
        .slice(0, MARKER_DIGITS);
  }

  async #load(signal: AbortSignal): Promise<Buffer> {
    return (await this.#read(signal)) ?? (await this.#create(signal));
  }

  async #read(signal: AbortSignal): Promise<Buffer | undefined> {
    const place = { namespace: this.#namespace, name: MARKER_KEY_SECRET };
    const found = await this.#client.find<UntypedObject>(RESOURCES.Secret, place, { signal });
    return found === undefined ? undefined : this.#keyOf(found);
  }

  /** Another operator may create the key at the same time. The API server accepts only one of both. */
  async #create(signal: AbortSignal): Promise<Buffer> {
    const key = randomBytes(KEY_BYTES);
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: MARKER_KEY_SECRET,
        namespace: this.#namespace,
        labels: { [LABELS.partOf]: 'berth', [LABELS.managedBy]: MANAGED_BY },
      },
      type: 'Opaque',
      immutable: true,
      data: { [DATA_KEY]: key.toString('base64') },
    };
    try {
      await this.#client.create<KubeObject>(secret, { fieldManager: FIELD_MANAGERS.operator, signal });
      return key;
    } catch (error) {
      if (!isKubeError(error, 'already_exists')) throw error;
      const other = await this.#read(signal);
      if (other === undefined) throw error;
      return other;
    }
  }

  #keyOf(secret: UntypedObject): Buffer {
    const { [DATA_KEY]: encoded = '' } = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
    const key = Buffer.from(encoded, 'base64');
    if (key.length === KEY_BYTES) return key;
    throw new Error(
      `failed to read the key of markers: the Secret ${this.#namespace}/${MARKER_KEY_SECRET} has no ${DATA_KEY} of ${KEY_BYTES} ` +
        'bytes; delete the Secret. Berth creates it again, and replaces pods with secret_references once',
    );
  }
}
