import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/cluster/kube/client/clock.ts';
import { KubeError } from '../../../../src/cluster/kube/client/errors.ts';
import { describeRight, type Right } from '../../../../src/cluster/kube/client/rights.ts';
import { CHILD_KINDS, type ChildKindName } from '../../../../src/cluster/operator/kinds.ts';
import { OperatorStartError, preflight } from '../../../../src/cluster/operator/preflight.ts';
import {
  buildRights,
  leaseRights,
  markerKeyRights,
  neededRights,
} from '../../../../src/cluster/operator/rights.ts';
import type { Fields } from '../../../../src/contract/crd/compatibility.ts';
import { customResourceDefinition } from '../../../../src/contract/crd/crd.ts';
import { grantedRights } from '../../../installation/install.ts';

const ALL_KINDS = Object.keys(CHILD_KINDS) as ChildKindName[];
describe('the rights of the operator', () => {
  test.each([
    ['ha', 'ClusterRole'],
    ['single', 'ClusterRole'],
    ['cloud', 'ClusterRole'],
    ['remote-listener', 'ClusterRole'],
    ['namespaced', 'Role'],
  ] as const)(
    'are exactly those that the profile %s grants in the namespaces of workloads by a %s',
    (profile, kind) => {
      const needed = neededRights(ALL_KINDS).map(describeRight);
      expect(grantedRights(profile, kind, 'berth-operator').sort()).toEqual(needed.sort());
      const lease = grantedRights(profile, 'Role', 'berth-operator-lease');
      expect(lease.sort()).toEqual([...leaseRights(), ...markerKeyRights()].map(describeRight).sort());
    },
  );

  test('are exactly those that the profile cloud grants in the namespace of builds', () => {
    const builds = grantedRights('cloud', 'Role', 'berth-operator-builds');
    expect(builds.sort()).toEqual(buildRights().map(describeRight).sort());
  });

  test('do not allow it to list or watch Secrets or to delete data', () => {
    const needed = neededRights(ALL_KINDS).map(describeRight);
    for (const right of [
      'list secrets',
      'watch secrets',
      'delete secrets',
      'delete persistentvolumeclaims',
    ]) {
      expect(needed).not.toContain(right);
    }
  });
});

interface FakeServer {
  groups?: string[];
  denied?: (right: Right & { namespace?: string }) => boolean;
  fails?: KubeError;
  /** Successive responses for the fields of the custom resource. The last one is repeated. */
  fields?: (object | KubeError)[];
}

/** Answers discovery and access reviews. */
function server({ groups = ['berth.dev/v1alpha1'], denied = () => false, fails, fields }: FakeServer) {
  const responses = [...(fields ?? [{}])];
  const resources: Record<string, string[]> = {
    'berth.dev/v1alpha1': ['manageddeployments'],
    'gateway.networking.k8s.io/v1': ['httproutes'],
  };
  return {
    request: async (method: string, path: string, options?: { body?: unknown }) => {
      if (fails !== undefined) throw fails;
      if (path === '/apis') {
        return {
          status: 200,
          body: { groups: groups.map((groupVersion) => ({ versions: [{ groupVersion }] })) },
        };
      }
      if (path === '/openapi/v3/apis/berth.dev/v1alpha1') {
        const body = responses.length > 1 ? responses.shift() : responses[0];
        if (body instanceof KubeError) throw body;
        return { status: 200, body };
      }
      if (method === 'GET') {
        return {
          status: 200,
          body: { resources: (resources[path.slice('/apis/'.length)] ?? []).map((name) => ({ name })) },
        };
      }
      const { spec } = (options?.body ?? {}) as {
        spec: { resourceAttributes: Right & { namespace?: string } };
      };
      return { status: 201, body: { status: { allowed: !denied(spec.resourceAttributes) } } };
    },
  };
}

describe('preflight', () => {
  const signal = new AbortController().signal;
  // Waits end at once.
  const clock = {
    ...systemClock,
    after: (_ms: number, callback: () => void) => systemClock.after(0, callback),
  };
  const runPreflight = (fake: FakeServer, namespaces: string[] = []) =>
    preflight({ client: server(fake), namespaces, leaseNamespace: 'berth-system', clock }, signal);

  test('returns the kinds that the cluster has', async () => {
    expect(await runPreflight({})).toEqual(ALL_KINDS.filter((kind) => kind !== 'HTTPRoute'));
    expect(await runPreflight({ groups: ['berth.dev/v1alpha1', 'gateway.networking.k8s.io/v1'] })).toEqual(
      ALL_KINDS,
    );
  });

  test('names the command that installs the custom resource when it is missing', async () => {
    await expect(runPreflight({ groups: [] })).rejects.toThrow(OperatorStartError);
    await expect(runPreflight({ groups: [] })).rejects.toThrow('kubectl apply -f crds/');
  });

  /** The OpenAPI document of a cluster whose custom resource lacks `without` of the status. */
  function served(without?: string, ofSpec?: string): object {
    const own = customResourceDefinition().spec.versions[0]?.schema.openAPIV3Schema as Fields;
    const { [without ?? '']: _, ...status } = own.properties?.['status']?.properties ?? {};
    const { [ofSpec ?? '']: _2, ...spec } = own.properties?.['spec']?.properties ?? {};
    const schema = {
      properties: { ...own.properties, spec: { properties: spec }, status: { properties: status } },
      'x-kubernetes-group-version-kind': [{ kind: 'ManagedDeployment' }],
    };
    return { components: { schemas: { any: schema } } };
  }

  test('names a missing field of the custom resource and how to upgrade it', async () => {
    const older = runPreflight({ fields: [served('dataImages')] });
    await expect(older).rejects.toThrow(OperatorStartError);
    await expect(older).rejects.toThrow(
      /definition of the cluster is older than this program: it lacks status.dataImages; upgrade it .*crds/,
    );
  });

  test.each([
    ['has all fields', [served()]],
    ['was upgraded a moment ago', [served('dataImages'), served()]],
    ['lacks a field of the spec', [served(undefined, 'source')]],
    ['does not publish the fields', [{}]],
    ['rejects the request for the fields', [new KubeError({ kind: 'forbidden', message: 'no' })]],
  ])('succeeds for a cluster that %s', async (_what, fields) => {
    expect(await runPreflight({ fields })).toContain('Pod');
  });

  test('names missing rights and their namespace', async () => {
    const denied = ({ verb, resource, namespace }: Right & { namespace?: string }) =>
      verb === 'watch' && resource === 'pods' && namespace === 'team-b';
    await expect(runPreflight({ denied }, ['team-a', 'team-b'])).rejects.toThrow(
      'may not watch pods in team-b. Grant these rights: run helm upgrade',
    );
    expect(await runPreflight({ denied }, ['team-a'])).toContain('Pod');
    await expect(runPreflight({ denied: () => true })).rejects.toThrow(/and \d+ more/);
    const lease = ({ resource }: Right) => resource === 'leases';
    await expect(runPreflight({ denied: lease })).rejects.toThrow(
      'get leases.coordination.k8s.io in berth-system',
    );
  });

  test('does not report a missing right when the API server does not respond', async () => {
    const fails = new KubeError({ kind: 'network', message: 'refused' });
    await expect(runPreflight({ fails })).rejects.toBe(fails);
  });
});
