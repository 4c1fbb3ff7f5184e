import { type ContainerFields, eachContainer } from './pod-containers.ts';
import type { SecurityContext } from './security-context.ts';
import type { Volume } from './volume.ts';

/**
 * Checks of the Pod Security Standards for the fields that clients can set: security contexts and kinds of volume. The
 * contract does not contain the other fields that the standards restrict. Source: k8s.io/pod-security-admission
 * policy/check_*.go.
 */

/** Levels of the Kubernetes Pod Security Standards. */
export const POD_SECURITY_LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type PodSecurityLevel = (typeof POD_SECURITY_LEVELS)[number];

/** The parts of a spec that Pod Security restricts. */
export interface PodSecurityInput extends ContainerFields {
  volumes?: readonly Volume[] | null | undefined;
}

export interface PodSecurityViolation {
  /** Path below resource_spec. */
  path: (string | number)[];
  message: string;
}

interface Finding {
  /** Path below securityContext. */
  path: (string | number)[];
  message: string;
}

const BASELINE_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
const RESTRICTED_CAPABILITIES: ReadonlySet<string> = new Set(['NET_BIND_SERVICE']);
const SELINUX_TYPES: ReadonlySet<string> = new Set([
  '',
  'container_t',
  'container_init_t',
  'container_kvm_t',
  'container_engine_t',
]);

function addedCapabilities(context: SecurityContext, allowed: ReadonlySet<string>, level: string): Finding[] {
  return (context.capabilities?.add ?? []).flatMap((capability, index) =>
    allowed.has(capability)
      ? []
      : [
          {
            path: ['capabilities', 'add', index],
            message: `must be one of ${[...allowed].join(', ')} (Pod Security ${level})`,
          },
        ],
  );
}

function seLinux(context: SecurityContext): Finding[] {
  const { type, user, role } = context.seLinuxOptions ?? {};
  const findings: Finding[] = [];
  if (type && !SELINUX_TYPES.has(type)) {
    const allowed = [...SELINUX_TYPES].filter(Boolean).join(', ');
    findings.push({
      path: ['seLinuxOptions', 'type'],
      message: `must be one of ${allowed} (Pod Security baseline)`,
    });
  }
  if (user)
    findings.push({ path: ['seLinuxOptions', 'user'], message: 'must not be set (Pod Security baseline)' });
  if (role)
    findings.push({ path: ['seLinuxOptions', 'role'], message: 'must not be set (Pod Security baseline)' });
  return findings;
}

function baseline(context: SecurityContext): Finding[] {
  const findings = [...addedCapabilities(context, BASELINE_CAPABILITIES, 'baseline'), ...seLinux(context)];
  if (context.privileged)
    findings.push({ path: ['privileged'], message: 'must not be true (Pod Security baseline)' });
  for (const profile of ['seccompProfile', 'appArmorProfile'] as const) {
    if (context[profile]?.type === 'Unconfined') {
      findings.push({ path: [profile, 'type'], message: 'must not be Unconfined (Pod Security baseline)' });
    }
  }
  return findings;
}

/** Absent fields are valid, because the renderer sets the restricted values on every container. */
function restricted(context: SecurityContext): Finding[] {
  const findings = addedCapabilities(context, RESTRICTED_CAPABILITIES, 'restricted');
  const drop = context.capabilities?.drop;
  if (drop && !drop.includes('ALL')) {
    findings.push({ path: ['capabilities', 'drop'], message: 'must include ALL (Pod Security restricted)' });
  }
  if (context.allowPrivilegeEscalation === true) {
    findings.push({
      path: ['allowPrivilegeEscalation'],
      message: 'must not be true (Pod Security restricted)',
    });
  }
  if (context.runAsNonRoot === false) {
    findings.push({ path: ['runAsNonRoot'], message: 'must not be false (Pod Security restricted)' });
  }
  if (context.runAsUser === 0)
    findings.push({ path: ['runAsUser'], message: 'must not be 0 (Pod Security restricted)' });
  return findings;
}

function contextFindings(level: PodSecurityLevel, context: SecurityContext): Finding[] {
  if (level === 'privileged') return [];
  const findings = baseline(context);
  if (level === 'baseline') return findings;
  const seen = new Set(findings.map((finding) => finding.path.join('/')));
  return [...findings, ...restricted(context).filter((finding) => !seen.has(finding.path.join('/')))];
}

/**
 * The violations of a Pod Security level in a spec, with their paths below resource_spec. At the level `restricted`, an
 * absent field is not a violation, because the renderer sets the restricted value.
 */
export function podSecurityViolations(
  level: PodSecurityLevel,
  spec: PodSecurityInput,
): PodSecurityViolation[] {
  const inContainers = eachContainer(spec).flatMap(({ container, loc }) =>
    contextFindings(level, container.securityContext ?? {}).map(({ path, message }) => ({
      path: [...loc, 'securityContext', ...path],
      message,
    })),
  );
  const inVolumes = (spec.volumes ?? []).flatMap((volume, index) =>
    level === 'restricted' && volume.nfs
      ? [{ path: ['volumes', index, 'nfs'], message: 'must not be used (Pod Security restricted)' }]
      : [],
  );
  return [...inContainers, ...inVolumes];
}
