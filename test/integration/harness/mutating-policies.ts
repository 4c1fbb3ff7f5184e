/** MutatingAdmissionPolicies of one test file, in force before a test goes on. */
import { waitFor } from '../../cluster/wait.ts';
import { kubectlAsAdmin, uniqueName } from './environment.ts';

/** What a policy does to objects of one kind whose name begins with `prefix`. */
export interface Mutation {
  readonly group: string;
  readonly resource: string;
  readonly prefix: string;
  /** Members of a list of JSONPatch in CEL: `JSONPatch{op: "add", path: "/spec/paused", value: true}`. */
  readonly patches: string;
  /** `patches` is a CEL expression of the whole list. */
  readonly isList?: boolean;
}

export interface Policies {
  /** Puts the mutations in force. */
  add(...mutations: Mutation[]): Promise<void>;
  /** Ends all of them. */
  remove(): Promise<void>;
}

const MARK = 'policies';

/** Policies for objects of one namespace. */
export function mutatingPolicies(namespace: string): Policies {
  const names: string[] = [];

  /** Policies that the API server applies now: each leaves its name on a ConfigMap that is only tried. */
  const inForce = async (): Promise<string> => {
    const args = ['create', 'configmap', MARK, '--namespace', namespace, '--dry-run=server', '-o', 'json'];
    const { metadata } = JSON.parse(await kubectlAsAdmin(args)) as {
      metadata: { labels?: Record<string, string> };
    };
    return Object.keys(metadata.labels ?? {})
      .sort()
      .join();
  };

  const objectsOf = ({ group, resource, prefix, patches, isList = false }: Mutation, name: string) => {
    const labelled = `[JSONPatch{op: "add", path: "/metadata/labels", value: {${JSON.stringify(name)}: "on"}}]`;
    // A second policy finds the labels of the first.
    const more = `[JSONPatch{op: "add", path: "/metadata/labels/${name}", value: "on"}]`;
    const isProbe = 'object.kind == "ConfigMap"';
    const expression = `${isProbe} ? (has(object.metadata.labels) ? ${more} : ${labelled}) : ${isList ? `(${patches})` : `[${patches}]`}`;
    const rule = (apiGroup: string, kind: string) => ({
      apiGroups: [apiGroup],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: [kind],
    });
    const apiVersion = 'admissionregistration.k8s.io/v1';
    return [
      {
        apiVersion,
        kind: 'MutatingAdmissionPolicy',
        metadata: { name },
        spec: {
          matchConstraints: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
            resourceRules: [rule(group, resource), rule('', 'configmaps')],
          },
          matchConditions: [
            {
              name: 'name',
              expression: `object.metadata.name.startsWith(${JSON.stringify(prefix)}) || (${isProbe} && object.metadata.name == "${MARK}")`,
            },
          ],
          failurePolicy: 'Fail',
          reinvocationPolicy: 'Never',
          mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }],
        },
      },
      {
        apiVersion,
        kind: 'MutatingAdmissionPolicyBinding',
        metadata: { name },
        spec: { policyName: name },
      },
    ];
  };

  const until = (what: string, wanted: readonly string[]) =>
    waitFor(what, async () => (await inForce()) === [...wanted].sort().join(), {
      timeoutMs: 60_000,
      intervalMs: 200,
    });

  return {
    add: async (...mutations) => {
      const items = mutations.flatMap((mutation) => {
        const name = uniqueName('changes');
        names.push(name);
        return objectsOf(mutation, name);
      });
      const list = { apiVersion: 'v1', kind: 'List', items };
      await kubectlAsAdmin(['apply', '-f', '-'], JSON.stringify(list));
      await until('the policies to be in force', names);
    },
    remove: async () => {
      if (names.length === 0) return;
      await kubectlAsAdmin(['delete', 'mutatingadmissionpolicybinding', ...names]);
      await kubectlAsAdmin(['delete', 'mutatingadmissionpolicy', ...names]);
      names.length = 0;
      await until('no policy to be in force', []);
    },
  };
}
