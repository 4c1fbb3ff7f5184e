import type { FastifyReply } from 'fastify';
import { onDisconnect } from '../core/client-disconnect.ts';
import type { ApiError } from '../core/errors.ts';
import { lateUpload, uploadAtShutdown } from './upload-errors.ts';

export interface UploadEnd {
  /** Fires when the upload must end before its body does. Its reason is the response: an ApiError. */
  readonly signal: AbortSignal;
  /** Ends the upload with this response. */
  end(error: ApiError): void;
}

/**
 * Ends an upload at its time limit, at a disconnect and when the server shuts down.
 * @param closing fires when the server shuts down
 * @param ms maximum duration of the upload
 */
export function uploadEnd(reply: FastifyReply, closing: AbortSignal, ms: number): UploadEnd {
  const ended = new AbortController();
  const end = (error: ApiError) => ended.abort(error);
  const close = () => end(uploadAtShutdown());
  const timer = setTimeout(() => end(lateUpload()), ms);
  if (closing.aborted) close();
  else closing.addEventListener('abort', close, { once: true });
  onDisconnect(reply, () => {
    clearTimeout(timer);
    closing.removeEventListener('abort', close);
    // After a disconnect, no client reads this response. After the end, it has no effect.
    end(lateUpload());
  });
  return { signal: ended.signal, end };
}
