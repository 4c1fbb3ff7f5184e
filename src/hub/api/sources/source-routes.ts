import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { archiveLimits, MEBIBYTE } from '../../../domain/uploads/archive-limits.ts';
import {
  contentDigest,
  UPLOAD_MS,
  type Upload,
  uploadSettingsShape,
} from '../../../domain/uploads/upload.ts';
import { actorOf, type Recheck, tenantOf } from '../core/auth.ts';
import type { BodyTime } from '../core/body-time.ts';
import { shutdownSignal } from '../core/client-disconnect.ts';
import type { ApiDeps } from '../core/deps.ts';
import { ApiError } from '../core/errors.ts';
import { etag, ifMatchHeader } from '../core/etag.ts';
import { deploymentParams } from '../core/query.ts';
import { errorAnswers } from '../openapi/error-schema.ts';
import { presentRevision, revisionSchema } from '../revisions/revision-routes.ts';
import { beginUpload, finishUpload, recordAbandoned, recordLost, type UploadRequest } from './upload.ts';
import { UploadBody } from './upload-body.ts';
import { uploadEnd } from './upload-end.ts';
import { storesNoUploads, uploadFailure } from './upload-errors.ts';
import { UploadPlaces } from './upload-places.ts';

/** `POST /v2/deployments/{id}/sources`: uploads a folder and builds it (docs/decisions/0116). */

/** Content types of an archive. Generators of clients know only the documented one. */
const DOCUMENTED_TYPE = 'application/octet-stream';
const TYPES = ['application/gzip', 'application/x-gzip', DOCUMENTED_TYPE];

/** Time in which the next part of an upload must arrive. */
const IDLE_MS = 30_000;

const headers = z.looseObject({
  'content-digest': z
    .string()
    .max(1024)
    .refine((header) => contentDigest(header) !== null, 'must have the form sha-256=:BASE64:, with 32 bytes')
    .describe(
      'SHA-256 of the body, as sha-256=:BASE64: (RFC 9530). It identifies the upload: the same upload with the same settings is built once.',
    )
    .meta({ examples: ['sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:'] }),
  'if-match': ifMatchHeader,
});

const query = z.strictObject(uploadSettingsShape).superRefine((settings, ctx) => {
  if (settings.dockerfile === undefined || settings.workflow_config_path === undefined) return;
  ctx.addIssue({
    code: 'custom',
    path: ['dockerfile'],
    message: 'must not be set together with workflow_config_path',
  });
});

/** The parser passes the body on as a stream. */
const body = z.unknown().meta({
  id: 'SourceArchive',
  type: 'string',
  format: 'binary',
  description:
    'A tar archive of the folder, compressed with gzip. Names are relative to the folder. The type application/gzip is accepted too.',
});

/** Passes bodies on unread. */
function takeArchives(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(TYPES, (_request, payload, done) => done(null, payload));
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(new ApiError(415, `The body must be ${TYPES[0]} or ${DOCUMENTED_TYPE}.`), undefined),
  );
}

/** The size of the body if the client states it, otherwise the largest allowed size. */
function expectedBytes({ headers: { 'content-length': length } }: FastifyRequest, most: number): number {
  return length === undefined ? most : Number(length);
}

interface Reception {
  readonly content: UploadBody;
  readonly expected: number;
  readonly signal: AbortSignal;
  /** Rejects when the caller has lost its rights. An upload takes up to 15 minutes. */
  recheck(): Promise<void>;
}

/** Stores the content of an upload, and creates its revision. */
async function receive(
  deps: ApiDeps,
  asked: UploadRequest,
  { content, expected, signal, recheck }: Reception,
) {
  const { sourceStore } = deps;
  const { digest } = asked.upload;
  const begun = await beginUpload(deps, asked, expected);
  const { owner, isStored } = begun;
  if (sourceStore == null) throw storesNoUploads();
  try {
    const isKept = isStored && (await sourceStore.has(owner, digest, signal));
    if (isStored && !isKept) await recordLost(deps, asked, begun);
    if (isKept) await content.compare();
    else await sourceStore.store(owner, digest, content.checked(), signal);
    await recheck();
  } catch (error) {
    await recordAbandoned(deps, asked, begun);
    throw error;
  }
  return await finishUpload(deps, asked, content.bytes);
}

interface Call {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly closing: AbortSignal;
  readonly recheck: Recheck;
}

/** Receives an upload when it has a place. After an error, the rest of the body is read without a place. */
async function takeTurn(
  deps: ApiDeps,
  places: UploadPlaces,
  { request, reply, closing, recheck }: Call,
  asked: UploadRequest,
) {
  const { policy, uploadIdleMs: idleMs = IDLE_MS } = deps;
  const packedBytes = policy.uploads.packed_mb * MEBIBYTE;
  const { signal, end } = uploadEnd(reply, closing, UPLOAD_MS);
  const archive = archiveLimits(policy.uploads);
  const { digest } = asked.upload;
  const content = new UploadBody(request.raw, { digest, packedBytes, archive, idleMs, signal });
  const expected = expectedBytes(request, packedBytes);
  try {
    content.checkSize(expected);
    const reception = { content, expected, signal, recheck: () => recheck(request) };
    const upload = { tenantId: asked.tenantId, bytes: () => content.bytes, end };
    return await places.run(upload, () => receive(deps, asked, reception), signal);
  } catch (error) {
    const failure = signal.aborted ? signal.reason : uploadFailure(error);
    const isTooLarge = failure instanceof ApiError && [408, 413].includes(failure.statusCode);
    if (isTooLarge || !(await content.discard())) reply.header('connection', 'close');
    throw failure;
  }
}

export function sourceRoutes(
  parent: FastifyInstance,
  deps: ApiDeps,
  { bodyTime, recheck }: { readonly bodyTime: BodyTime; readonly recheck: Recheck },
): void {
  const closing = shutdownSignal(parent);
  const places = new UploadPlaces(deps);
  parent.register(async (app) => {
    takeArchives(app);
    app.withTypeProvider<ZodTypeProvider>().post(
      '/v2/deployments/:deployment_id/sources',
      {
        config: {
          access: { scopes: ['deployments:write'] },
          answerHeaders: ['ETag', 'Location'],
          streamsBody: true,
          waits: true,
        },
        onRequest: async (request) => bodyTime.exempt(request.raw),
        schema: {
          tags: ['revisions'],
          summary: 'Upload a folder',
          description:
            'Uploads a folder, and creates a revision that is built from it. The deployment must have the source internal_image. If the latest revision has the same upload with the same settings, and has not failed, the response is 200 with this revision. If the upload was built before, the new revision uses the image. Follow the build with GET …/revisions/{id}/build-logs?follow=true.',
          params: deploymentParams,
          headers,
          querystring: query,
          consumes: [DOCUMENTED_TYPE],
          body,
          response: {
            200: revisionSchema,
            201: revisionSchema,
            ...errorAnswers(400, 404, 409, 412, 413, 415, 502, 503, 504),
          },
        },
      },
      async (request, reply) => {
        const tenantId = tenantOf(request);
        const { deployment_id: deploymentId } = request.params;
        const digest = contentDigest(request.headers['content-digest']) ?? '';
        const upload: Upload = { digest, ...request.query };
        const ifMatch = request.headers['if-match'];
        const asked = { tenantId, deploymentId, actor: actorOf(request), ifMatch, upload };
        const call = { request, reply, closing, recheck };
        const { revision, generation, created } = await takeTurn(deps, places, call, asked);
        reply
          .code(created ? 201 : 200)
          .header('etag', etag(generation))
          .header('location', `/v2/deployments/${deploymentId}/revisions/${revision.id}`);
        return presentRevision(revision);
      },
    );
  });
}
