import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Caller, callerOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { booleanQuery } from '../core/query.ts';
import { isSession } from '../tenancy/principal.ts';
import type { PresentOptions } from './deployment-present.ts';

/** Code that all routes that return deployments share. */

export const maskQuery = {
  mask_secrets: booleanQuery
    .optional()
    .describe(
      'true: mask the values of secrets, even for callers with the scope secrets:read. Default: true for sessions of browsers, otherwise false.',
    ),
};

export const dryRunQuery = {
  dry_run: booleanQuery
    .default(false)
    .describe('true: validate the request and return the result with status 200, without storing anything.'),
};

/** The query of a request that writes a deployment. */
export const writeQuery = z.strictObject({ ...dryRunQuery, ...maskQuery });

/** Whether a caller gets the values of secrets. @param mask `mask_secrets` of the request */
export function showsSecrets(
  { principal, scopes }: Pick<Caller, 'principal' | 'scopes'>,
  mask: boolean | undefined,
): boolean {
  return !(mask ?? isSession(principal)) && scopes.includes('secrets:read');
}

/** How deployments are presented to the caller. */
export function presenting(
  deps: ApiDeps,
  request: FastifyRequest,
  mask: boolean | undefined,
): PresentOptions {
  return { box: deps.secretBox, showSecrets: showsSecrets(callerOf(request), mask) };
}
