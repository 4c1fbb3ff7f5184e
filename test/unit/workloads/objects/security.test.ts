import type { V1SecurityContext } from '@kubernetes/client-node';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SecurityProfile } from '../../../../src/domain/pod-settings/security-profile.ts';
import {
  containerSecurity,
  type PodSecurity,
  type SecurityLevel,
  securityLevel,
} from '../../../../src/workloads/objects/security.ts';
import { validResourceSpec } from '../../../arbitraries/resource-spec.ts';
import { CLOUD, minimalRequest, render } from '../render-request.ts';

/** What Pod Security restricted asks of one container in a pod with the runtime's seccomp profile. */
function isRestricted(context: V1SecurityContext | undefined): boolean {
  return (
    context?.allowPrivilegeEscalation === false &&
    context.runAsNonRoot === true &&
    context.runAsUser !== 0 &&
    context.capabilities?.drop?.includes('ALL') === true &&
    context.seccompProfile?.type !== 'Unconfined'
  );
}

describe('containerSecurity', () => {
  test.each<[string, V1SecurityContext | undefined, V1SecurityContext]>([
    ['no security context', undefined, { allowPrivilegeEscalation: false }],
    [
      'given capabilities',
      { capabilities: { drop: ['ALL'] } },
      { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    ],
  ])('drops no capability at the level runtime-default with %s', (_, given, wanted) => {
    expect(containerSecurity('runtime-default', given)).toEqual(wanted);
  });

  test.each<[PodSecurity, SecurityProfile | undefined, SecurityLevel]>([
    ['baseline', undefined, 'baseline'],
    ['baseline', 'baseline', 'runtime-default'],
    ['baseline', 'restricted', 'restricted'],
    ['privileged', undefined, 'privileged'],
    ['privileged', 'restricted', 'restricted'],
    ['restricted', undefined, 'restricted'],
    ['restricted', 'baseline', 'restricted'],
  ])('on a platform with %s, the profile %s results in %s', (platform, profile, level) => {
    expect(securityLevel(platform, profile)).toBe(level);
  });

  test.each<[string, V1SecurityContext | undefined, V1SecurityContext]>([
    ['no security context', undefined, { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }],
    [
      'given capabilities',
      { capabilities: { add: ['CHOWN'] } },
      { allowPrivilegeEscalation: false, capabilities: { add: ['CHOWN'] } },
    ],
    [
      'allowed escalation',
      { allowPrivilegeEscalation: true },
      { allowPrivilegeEscalation: true, capabilities: { drop: ['ALL'] } },
    ],
    ['a privileged container', { privileged: true }, { privileged: true }],
    [
      'CAP_SYS_ADMIN',
      { capabilities: { add: ['CAP_SYS_ADMIN'] } },
      { capabilities: { add: ['CAP_SYS_ADMIN'] } },
    ],
  ])('returns the baseline context for %s', (_, given, wanted) => {
    expect(containerSecurity('baseline', given)).toEqual(wanted);
  });

  test('keeps the given values and fills in the rest for restricted', () => {
    expect(
      containerSecurity('restricted', { runAsUser: 7, capabilities: { add: ['NET_BIND_SERVICE'] } }),
    ).toEqual({
      runAsUser: 7,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] },
    });
  });

  test('does not modify its input', () => {
    const given = Object.freeze({ capabilities: Object.freeze({ add: ['CHOWN'] }) });
    expect(() => containerSecurity('restricted', given)).not.toThrow();
  });
});

test('restricts every container in cloud mode: of the app, the user, the database and the cache', () => {
  fc.assert(
    fc.property(validResourceSpec({ podSecurity: 'restricted' }), (spec) => {
      const { objects } = render({ ...minimalRequest(spec), source: 'internal_image' }, CLOUD);
      const workloads = objects.filter(({ object }) => ['Deployment', 'StatefulSet'].includes(object.kind));
      for (const { object } of workloads) {
        const { template } = object.spec as { template: { spec: PodSpec } };
        expect(template.spec.securityContext.seccompProfile.type).toBe('RuntimeDefault');
        expect(template.spec.securityContext.runAsNonRoot).toBe(true);
        for (const container of [...(template.spec.initContainers ?? []), ...template.spec.containers]) {
          expect(isRestricted(container.securityContext), `${object.metadata.name} ${container.name}`).toBe(
            true,
          );
        }
      }
    }),
    { numRuns: 60 },
  );
});

interface PodSpec {
  securityContext: { seccompProfile: { type: string }; runAsNonRoot?: boolean };
  initContainers?: Container[];
  containers: Container[];
}
interface Container {
  name: string;
  securityContext?: V1SecurityContext;
}
