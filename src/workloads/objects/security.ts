import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';
import type { SecurityProfile } from '../../domain/pod-settings/security-profile.ts';

/** Pod Security level of app containers, including init containers and sidecars. */
export type PodSecurity = RenderConfig['podSecurity'];

/** The level of a deployment's pods. `runtime-default`: containers keep the default capabilities of the runtime. */
export type SecurityLevel = PodSecurity | 'runtime-default';

/** The level that the profile of a deployment results in. A profile never lowers the level `restricted` of the platform. */
export function securityLevel(platform: PodSecurity, profile: SecurityProfile | undefined): SecurityLevel {
  if (platform === 'restricted' || profile === 'restricted') return 'restricted';
  return profile === 'baseline' ? 'runtime-default' : platform;
}

/** Security context of every pod: the seccomp profile of the runtime, for containers without their own. */
export function podSecurityContext(level: SecurityLevel): V1PodSecurityContext {
  return {
    seccompProfile: { type: 'RuntimeDefault' },
    ...(level === 'restricted' ? { runAsNonRoot: true } : {}),
  };
}

/** Security context of containers that Berth adds: Pod Security *restricted*, and a read-only root file system. */
export const OWN_CONTAINER_SECURITY: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

const SYS_ADMIN = ['SYS_ADMIN', 'CAP_SYS_ADMIN'];

/** Whether the context needs privilege escalation. Kubernetes then rejects `allowPrivilegeEscalation: false`. */
function needsEscalation(context: V1SecurityContext): boolean {
  const added = context.capabilities?.add ?? [];
  return context.privileged === true || SYS_ADMIN.some((capability) => added.includes(capability));
}

/**
 * The security context of a container with defaults for absent fields. The defaults are no privilege escalation, and no
 * capabilities unless the context sets capabilities or is privileged. At the level `restricted`, ALL is dropped even if
 * capabilities are added, and the container runs as non-root. At the level `runtime-default`, no capability is dropped.
 */
export function containerSecurity(
  level: SecurityLevel,
  given: V1SecurityContext | undefined = {},
): V1SecurityContext {
  const context: V1SecurityContext = { ...given };
  if (!needsEscalation(context)) context.allowPrivilegeEscalation ??= false;
  if (level === 'restricted') {
    context.capabilities = { ...context.capabilities, drop: context.capabilities?.drop ?? ['ALL'] };
    context.runAsNonRoot ??= true;
  } else if (context.privileged !== true && level !== 'runtime-default') {
    context.capabilities ??= { drop: ['ALL'] };
  }
  return context;
}
