import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node';
import type { RenderConfig } from '../../contract/render/render-config.ts';

/** Pod Security of the app's own containers, the user's included. */
export type PodSecurity = RenderConfig['podSecurity'];

/** Every pod: the runtime's seccomp filter, for all containers that name no other. */
export function podSecurityContext(level: PodSecurity): V1PodSecurityContext {
  return {
    seccompProfile: { type: 'RuntimeDefault' },
    ...(level === 'restricted' ? { runAsNonRoot: true } : {}),
  };
}

/** The set of Pod Security *restricted* and a read-only root, for the containers that Berth itself brings. */
export const OWN_CONTAINER_SECURITY: V1SecurityContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

const SYS_ADMIN = ['SYS_ADMIN', 'CAP_SYS_ADMIN'];

/** Kubernetes refuses `allowPrivilegeEscalation: false` beside these: they are a privilege. */
function needsEscalation(context: V1SecurityContext): boolean {
  const added = context.capabilities?.add ?? [];
  return context.privileged === true || SYS_ADMIN.some((capability) => added.includes(capability));
}

/**
 * A container's security context with absent fields filled in; what it says itself stays.
 * Always: no privilege escalation; all capabilities dropped unless it speaks of capabilities or is privileged.
 * At `restricted`: drop ALL beside what is added, too, and not as root.
 */
export function containerSecurity(
  level: PodSecurity,
  given: V1SecurityContext | undefined = {},
): V1SecurityContext {
  const context: V1SecurityContext = { ...given };
  if (!needsEscalation(context)) context.allowPrivilegeEscalation ??= false;
  if (level === 'restricted') {
    context.capabilities = { ...context.capabilities, drop: context.capabilities?.drop ?? ['ALL'] };
    context.runAsNonRoot ??= true;
  } else if (context.privileged !== true) {
    context.capabilities ??= { drop: ['ALL'] };
  }
  return context;
}
