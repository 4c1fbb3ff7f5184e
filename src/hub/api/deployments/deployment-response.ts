import type { FastifyRequest } from 'fastify';
import { callerOf } from '../core/auth.ts';
import type { ApiDeps } from '../core/deps.ts';
import { booleanQuery } from '../core/query.ts';
import type { PresentOptions } from './deployment-present.ts';

/** Code that all routes that return deployments share. */

export const maskQuery = {
  mask_secrets: booleanQuery
    .default(false)
    .describe('true: mask the values of secrets, even for keys with the scope secrets:read.'),
};

/** How deployments are presented to the caller. */
export function presenting(deps: ApiDeps, request: FastifyRequest, mask: boolean): PresentOptions {
  return {
    box: deps.secretBox,
    showSecrets: !mask && callerOf(request).scopes.includes('secrets:read'),
  };
}
