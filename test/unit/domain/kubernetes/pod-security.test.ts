import { describe, expect, it } from 'vitest';
import { podSecurityViolations } from '../../../../src/domain/kubernetes/pod-security.ts';
import type { SecurityContext } from '../../../../src/domain/kubernetes/security-context.ts';

function paths(level: 'privileged' | 'baseline' | 'restricted', securityContext: SecurityContext): string[] {
  const container = { name: 'c', image: 'i', securityContext };
  return podSecurityViolations(level, { sidecars: [container] }).map(({ path }) => path.slice(3).join('.'));
}

/** Agrees with a real API server's admission, tried with thousands of random contexts. */
const rows: [string, SecurityContext, string | null, string | null][] = [
  ['an empty context', {}, null, null],
  ['privileged', { privileged: true }, 'privileged', 'privileged'],
  ['an ordinary capability', { capabilities: { add: ['CHOWN'] } }, null, 'capabilities.add.0'],
  ['the one capability', { capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] } }, null, null],
  [
    'a strong capability',
    { capabilities: { add: ['CHOWN', 'SYS_ADMIN'] } },
    'capabilities.add.1',
    'capabilities.add.1',
  ],
  ['the CAP_ spelling', { capabilities: { add: ['CAP_CHOWN'] } }, 'capabilities.add.0', 'capabilities.add.0'],
  ['dropping too little', { capabilities: { drop: ['KILL'] } }, null, 'capabilities.drop'],
  ['dropping nothing', { capabilities: { drop: [] } }, null, 'capabilities.drop'],
  [
    'seccomp Unconfined',
    { seccompProfile: { type: 'Unconfined' } },
    'seccompProfile.type',
    'seccompProfile.type',
  ],
  [
    'AppArmor Unconfined',
    { appArmorProfile: { type: 'Unconfined' } },
    'appArmorProfile.type',
    'appArmorProfile.type',
  ],
  ['seccomp Localhost', { seccompProfile: { type: 'Localhost', localhostProfile: 'a' } }, null, null],
  ['an SELinux level', { seLinuxOptions: { type: 'container_t', level: 's0' } }, null, null],
  ['an SELinux type', { seLinuxOptions: { type: 'spc_t' } }, 'seLinuxOptions.type', 'seLinuxOptions.type'],
  ['an SELinux user', { seLinuxOptions: { user: 'u' } }, 'seLinuxOptions.user', 'seLinuxOptions.user'],
  ['an SELinux role', { seLinuxOptions: { role: 'r' } }, 'seLinuxOptions.role', 'seLinuxOptions.role'],
  ['root', { runAsUser: 0 }, null, 'runAsUser'],
  ['maybe root', { runAsNonRoot: false }, null, 'runAsNonRoot'],
  ['escalation', { allowPrivilegeEscalation: true }, null, 'allowPrivilegeEscalation'],
];

describe('podSecurityViolations', () => {
  it.each(rows)('judges %s at each level', (_, context, baseline, restricted) => {
    expect(paths('privileged', context)).toEqual([]);
    if (baseline === null) expect(paths('baseline', context)).toEqual([]);
    else expect(paths('baseline', context)).toContain(baseline);
    if (restricted === null) expect(paths('restricted', context)).toEqual([]);
    else expect(paths('restricted', context)).toContain(restricted);
  });

  it('names each violation once, with its whole path', () => {
    const bad = {
      name: 'b',
      image: 'i',
      securityContext: { privileged: true, capabilities: { add: ['SYS_ADMIN'] } },
    };
    const fine = { name: 'f', image: 'i' };
    const found = podSecurityViolations('restricted', { init_containers: [fine, bad], sidecars: null });
    expect(found.map(({ path }) => path)).toEqual([
      ['init_containers', 1, 'securityContext', 'capabilities', 'add', 0],
      ['init_containers', 1, 'securityContext', 'privileged'],
    ]);
  });

  it('rejects nfs only at restricted', () => {
    const spec = { volumes: [{ name: 'a' }, { name: 'b', nfs: { server: 's', path: '/' } }] };
    expect(podSecurityViolations('baseline', spec)).toEqual([]);
    expect(podSecurityViolations('restricted', spec).map(({ path }) => path)).toEqual([
      ['volumes', 1, 'nfs'],
    ]);
  });
});
