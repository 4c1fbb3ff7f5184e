import { ArchiveViolation } from '../../../domain/uploads/archive-rules.ts';
import { CLEANING_LEASE_SECONDS } from '../../store/builds/repository-cleanups.ts';
import { ApiError, brokenRules } from '../core/errors.ts';
import { SourceStoreError, type SourceStoreFailure } from './source-store.ts';

/** The responses to uploads that fail. */

const RETRY_AFTER_SECONDS = 5;

const STATUS: Readonly<Record<SourceStoreFailure, number>> = { failed: 502, unavailable: 503, slow: 504 };

/** The response to an error while an upload was received and stored. */
export function uploadFailure(error: unknown): unknown {
  if (error instanceof ArchiveViolation) {
    const { rule, entry, message } = error;
    return brokenRules([{ loc: entry === null ? [] : [entry], msg: message, type: rule }]);
  }
  if (!(error instanceof SourceStoreError)) return error;
  const retry = error.failure === 'failed' ? {} : { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new ApiError(
    STATUS[error.failure],
    `The upload could not be stored: ${error.message}. Nothing was changed. Send the upload again; if that does not help, ` +
      'ask the administrator of the platform to check the registry.',
    retry,
  );
}

/** 408: the upload took too long, or its connection was lost. */
export const lateUpload = () => new ApiError(408, 'The request did not arrive within the time limit.');

/** 503: another process of the API can receive the upload. */
export const uploadAtShutdown = () =>
  new ApiError(503, 'The server is shutting down. Nothing was changed. Send the upload again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

/** 503: another tenant gets the place of the upload. */
export const uploadGivesPlace = () =>
  new ApiError(
    503,
    'Other tenants wait, and this upload has been the slowest for more than a minute. Nothing was changed. Send the upload again.',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** 409: this installation stores no uploads. */
export const storesNoUploads = () =>
  new ApiError(
    409,
    'This installation cannot build uploaded folders, because BERTH_REGISTRY and BERTH_REGISTRY_SIGNING_KEY are not ' +
      'both set.',
  );

/** 409: the cluster of the deployment builds nothing. */
export const buildsNothing = () =>
  new ApiError(
    409,
    'The cluster of the deployment runs no builds. The administrator of the platform can enable them (value ' +
      'builds.enabled of the chart, or BERTH_BUILDS=true).',
  );

/** 409: the upload is being removed. */
export const beingRemoved = () =>
  new ApiError(
    409,
    'The same upload is being removed from the registry. Send it again in a few seconds. If the process that removes it has ' +
      `stopped, another one removes it within ${CLEANING_LEASE_SECONDS / 60} minutes.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** No place for another upload in time. @param ofTenant whether the limit of the tenant is reached */
export function tooManyUploads(ofTenant: boolean): ApiError {
  const retry = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return ofTenant
    ? new ApiError(429, 'Your keys send too many uploads at once. Wait for their end, then try again.', retry)
    : new ApiError(503, 'The server is receiving too many uploads at once. Try again.', retry);
}
