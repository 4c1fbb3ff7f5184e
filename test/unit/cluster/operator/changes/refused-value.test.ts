import { describe, expect, test } from 'vitest';
import { isOtherValue } from '../../../../../src/cluster/operator/changes/refused-value.ts';

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', labels: { 'app.kubernetes.io/name': 'web' } },
  spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }], selector: { app: 'web' } },
};

describe('a value that the API server rejects', () => {
  test.each([
    ['spec.ports[0].port', 'Invalid value: 0: must be between 1 and 65535, inclusive'],
    ['spec.ports[0].protocol', 'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"'],
    ['spec.ports[0].port', 'Required value'],
    [
      'metadata.labels[app.kubernetes.io/name]',
      'Invalid value: "a b": a valid label must be an empty string or …',
    ],
    [
      'spec.template.spec.containers[0].imagePullPolicy',
      'Unsupported value: "Sometimes": supported values: "Always"',
    ],
    ['spec.selector', 'Invalid value: {"matchLabels":{}}: field is immutable'],
    ['spec.template.metadata.labels', 'Invalid value: {}: `selector` does not match template `labels`'],
  ])('comes from the cluster when another value was sent (%s: %s)', (field, message) => {
    expect(isOtherValue(service, { field, message })).toBe(true);
  });

  test.each([
    ['spec.ports[0].port', 'Invalid value: 80: provided port is already allocated'],
    ['spec.ports[0].protocol', 'Unsupported value: "TCP": supported values: "UDP"'],
    ['spec.ports[0].nodePort', 'Required value'],
    ['metadata.labels[app.kubernetes.io/name]', 'Invalid value: "web": taken'],
    ['spec.ports', 'Invalid value: [{"port":0}]: none'],
    ['spec.ports[7].name', 'Duplicate value: "http"'],
    ['spec.template.spec.containers[0].resources.limits[cpu]', 'Invalid value: "1": must be above "2"'],
    ['', 'Invalid value'],
  ])('counts as desired when it was sent, or when that is uncertain (%s: %s)', (field, message) => {
    expect(isOtherValue(service, { field, message })).toBe(false);
  });
});
