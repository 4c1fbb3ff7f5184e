import { describe, expect, test } from 'vitest';
import {
  isKubeError,
  KubeError,
  statusError,
  toKubeError,
  unknownFields,
} from '../../../../../src/cluster/kube/client/errors.ts';

describe('error responses', () => {
  test.each([
    [400, 'BadRequest', 'bad_request', false],
    [401, 'Unauthorized', 'unauthorized', true],
    [403, 'Forbidden', 'forbidden', true],
    [404, 'NotFound', 'not_found', false],
    [405, 'MethodNotAllowed', 'bad_request', false],
    [409, 'Conflict', 'conflict', false],
    [409, 'AlreadyExists', 'already_exists', false],
    [410, 'Expired', 'gone', true],
    [410, 'Gone', 'gone', true],
    [413, 'RequestEntityTooLarge', 'bad_request', false],
    [422, 'Invalid', 'invalid', false],
    [429, 'TooManyRequests', 'too_many_requests', true],
    [500, 'InternalError', 'server', true],
    [500, 'ServerTimeout', 'server', true],
    [503, undefined, 'server', true],
    [504, 'Timeout', 'server', true],
  ])('map the status %i with the reason %s to the kind %s', (code, reason, kind, retryable) => {
    expect(statusError('do it', code, { reason, message: 'text', details: { name: 'x' } })).toMatchObject({
      kind,
      retryable,
      status: code,
      reason,
      message: 'failed to do it: text',
    });
  });

  test('do not report an object as missing for a 404 that names no object', () => {
    const error = statusError('x', 404, {
      reason: 'NotFound',
      message: 'could not find the requested resource',
    });
    expect(error).toMatchObject({ kind: 'unknown_resource', retryable: true });
    expect(statusError('x', 404, { message: '404 page not found' }).kind).toBe('unknown_resource');
  });

  test('report an apply with the uid of an earlier object as a conflict, not as an invalid object', () => {
    const details = { name: 'b', causes: [{ field: 'metadata.uid', message: 'field is immutable' }] };
    expect(statusError('x', 422, { reason: 'Invalid', details }).kind).toBe('conflict');
  });

  // The messages of Kubernetes 1.30 and later for a custom resource.
  test.each([
    [
      400,
      'ManagedDeployment in version "v1alpha1" cannot be handled as a ManagedDeployment: strict decoding error: unknown field "spec.ofTomorrow", unknown field "spec.revision.huh"',
      ['spec.ofTomorrow', 'spec.revision.huh'],
    ],
    [
      500,
      'failed to create typed patch object (ns/b; berth.dev/v1alpha1, Kind=ManagedDeployment): .spec.ofTomorrow: field not declared in schema',
      ['spec.ofTomorrow'],
    ],
    [400, 'strict decoding error: duplicate field "spec.revision"', []],
    [500, 'Internal error occurred: unknown field "spec.revision"', []],
    [422, 'Invalid value: "strict decoding error: unknown field \\"a\\""', []],
  ])('yield the unknown fields in a %i with the message: %s', (code, message, fields) => {
    expect(unknownFields(statusError('x', code, { message }))).toEqual(fields);
  });

  test('keep the fields that the server names, and the Retry-After', () => {
    const error = statusError('apply Deployment a/b', 422, {
      reason: 'Invalid',
      message: 'Deployment "b" is invalid',
      details: {
        retryAfterSeconds: 3,
        causes: [{ field: 'spec.replicas', message: 'Invalid value: -1', reason: 'FieldValueInvalid' }],
      },
    });
    expect(error.causes).toEqual([
      { field: 'spec.replicas', message: 'Invalid value: -1', reason: 'FieldValueInvalid' },
    ]);
    expect(error.retryAfterMs).toBe(3_000);
    expect(statusError('x', 429, {}, { retryAfterMs: 500 }).retryAfterMs).toBe(500);
  });
});

describe('error responses about a Secret', () => {
  const refused = (message: string, code = 403, reason = 'Forbidden') =>
    statusError(
      'create Secret a/b',
      code,
      { reason, message, details: { name: 'b' } },
      { confidential: true },
    );

  test.each([
    [
      'admission webhook "deny.example" denied the request: {"data":{"TOKEN":"aHVudGVyMg=="}}',
      403,
      'Forbidden',
    ],
    [
      `secrets "b" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'q' denied request: aHVudGVyMg==`,
      403,
      'Forbidden',
    ],
    [
      'admission webhook "x" denied the request: secrets is forbidden: User "aHVudGVyMg==" cannot create resource ',
      403,
      'Forbidden',
    ],
    ['Secret "b" is invalid: data[aHVudGVyMg==]: Invalid value: "aHVudGVyMg=="', 422, 'Invalid'],
    ['aHVudGVyMg==', 409, 'Conflict'],
    ['aHVudGVyMg==', 418, 'Teapot'],
  ])('omit text that may quote the Secret: %s (%i)', (message, code, reason) => {
    const error = refused(message, code, reason);
    expect(`${error.message} ${JSON.stringify(error)} ${String(error)}`).not.toContain('aHVudGVyMg==');
    expect(error.message).toContain('failed to create Secret a/b: ');
    // Decisions still have the full text.
    expect(error.said()).toBe(message);
  });

  test.each([
    'secrets is forbidden: User "system:serviceaccount:berth:listener" cannot create resource "secrets" in API group "" in the namespace "a"',
    'secrets "b" is forbidden: exceeded quota: small, requested: secrets=1, used: secrets=1, limited: secrets=1',
    'namespaces "a" not found',
    `secrets "b" is forbidden: ValidatingAdmissionPolicy 'berth-listener-writes-berth-system' with binding 'berth-listener-writes-berth-system' denied request: the listener of Berth may write only to namespaces of tenants, which carry the labels app.kubernetes.io/managed-by=berth and berth.dev/tenant-id, and Secrets and Jobs of builds; a is no namespace of a tenant`,
  ])('keep messages of the server itself: %s', (message) => {
    expect(refused(message).message).toBe(`failed to create Secret a/b: ${message}`);
  });

  test('name the fields, but not their values', () => {
    const details = { name: 'b', causes: [{ field: 'data', message: 'Invalid value: aHVudGVyMg==' }] };
    const error = statusError('x', 422, { reason: 'Invalid', details }, { confidential: true });
    expect(error.causes).toEqual([{ field: 'data', message: '', reason: undefined }]);
  });
});

describe('any thrown value', () => {
  test('becomes a network failure with its cause', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const error = toKubeError(cause, 'list pods');
    expect(error).toMatchObject({
      kind: 'network',
      retryable: true,
      message: 'failed to list pods: connect ECONNREFUSED',
      cause,
    });
  });

  test('keeps the kind of a KubeError, and has the kind aborted for an AbortError', () => {
    const known = new KubeError({ kind: 'timeout', message: 'x' });
    expect(toKubeError(known)).toBe(known);
    expect(toKubeError(new DOMException('x', 'AbortError'))).toMatchObject({
      kind: 'aborted',
      retryable: false,
    });
    expect(toKubeError('text').message).toBe('failed to call the Kubernetes API: text');
  });

  test('is classified by its kind in isKubeError', () => {
    const error = new KubeError({ kind: 'conflict', message: 'x' });
    expect([isKubeError(error), isKubeError(error, 'conflict', 'gone'), isKubeError(error, 'gone')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(isKubeError(new Error('x'))).toBe(false);
  });
});
