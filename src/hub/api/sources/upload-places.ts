import { FairLimiter } from '../../../domain/scheduling/fair-limiter.ts';
import { KEPT_MS, uploadToEnd } from '../../../domain/uploads/place-claims.ts';
import type { ApiDeps } from '../core/deps.ts';
import type { ApiError } from '../core/errors.ts';
import { tooManyUploads, uploadGivesPlace } from './upload-errors.ts';

/** The places for uploads in one process: how many run, which wait, and which give their place to others. */

/** Maximum number of uploads at the same time in one process. Each keeps the paths of its entries in memory. */
const MAX_AT_ONCE = 8;
/** How long an upload waits for its turn. */
const WAIT_MS = 20_000;
/** How often an upload that waits tries to get the place of another one. */
const TRIES = 20;

export interface UploadInPlace {
  readonly tenantId: string;
  /** Number of bytes that have arrived. */
  bytes(): number;
  /** Ends the upload soon, with this response. */
  end(error: ApiError): void;
}

interface Running extends UploadInPlace {
  readonly since: number;
}

/** A wait. `claims`: an upload gives its place because of it. */
interface Waiting {
  readonly tenantId: string;
  claims: boolean;
}

export class UploadPlaces {
  readonly #limiter: FairLimiter;
  readonly #atOnce: number;
  readonly #waitMs: number;
  readonly #keptMs: number;
  /** Without those that are giving their place to others. */
  readonly #running = new Set<Running>();
  readonly #waiting = new Set<Waiting>();

  constructor({ policy, uploadWaitMs = WAIT_MS, uploadKeptMs = KEPT_MS }: ApiDeps) {
    this.#atOnce = policy.uploads.at_once;
    this.#limiter = new FairLimiter({ total: MAX_AT_ONCE, perTenant: this.#atOnce });
    this.#waitMs = uploadWaitMs;
    this.#keptMs = uploadKeptMs;
  }

  /** Runs an upload when it has a place. @throws ApiError 429, 503; the reason of `signal` if it fires during the wait */
  async run<T>(upload: UploadInPlace, receive: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { tenantId } = upload;
    const turn = new AbortController();
    const waiting = { tenantId, claims: false };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => turn.abort(), this.#waitMs);
    const tries = setInterval(() => this.#claimPlace(waiting), this.#waitMs / TRIES);
    const stopWaiting = () => {
      clearTimeout(timer);
      clearInterval(tries);
      this.#waiting.delete(waiting);
    };
    const begun = () => {
      stopWaiting();
      return this.#keepPlace(upload, receive);
    };
    try {
      return await this.#limiter.run(tenantId, begun, AbortSignal.any([turn.signal, signal]));
    } catch (error) {
      if (!turn.signal.aborted || error !== turn.signal.reason) throw error;
      throw tooManyUploads(this.#limiter.runningOf(tenantId) >= this.#atOnce);
    } finally {
      stopWaiting();
    }
  }

  async #keepPlace<T>(upload: UploadInPlace, receive: () => Promise<T>): Promise<T> {
    const running = { ...upload, since: performance.now() };
    this.#running.add(running);
    try {
      return await receive();
    } finally {
      this.#running.delete(running);
    }
  }

  /** Ends the upload that gives its place, if there is one. Each wait ends one upload at most. */
  #claimPlace(waiting: Waiting): void {
    const { tenantId } = waiting;
    const running = this.#limiter.runningOf(tenantId);
    if (waiting.claims || running >= this.#atOnce) return;
    const promised = [...this.#waiting].filter((other) => other.tenantId === tenantId && other.claims).length;
    const now = performance.now();
    const uploads = [...this.#running].map((upload) => ({
      tenantId: upload.tenantId,
      ageMs: now - upload.since,
      bytes: upload.bytes(),
      upload,
    }));
    const found = uploadToEnd(uploads, running + promised, this.#keptMs);
    if (found === undefined) return;
    waiting.claims = true;
    this.#running.delete(found.upload);
    found.upload.end(uploadGivesPlace());
  }
}
