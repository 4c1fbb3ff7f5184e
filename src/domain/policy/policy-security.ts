import { podSecurityViolations } from '../kubernetes/pod-security.ts';
import type { Policy } from './policy.ts';
import type { PodView, Violation } from './policy-view.ts';

/** Rules for the security of pods: the level of the policy, and the profile of the deployment. */

/** The requested profile, if the policy does not allow it. */
export function profileIssues({ settings }: PodView, policy: Policy): Violation[] {
  const { security_profile: profile } = settings;
  if (profile === undefined) return [];
  const loc = ['source_config', 'security_profile'];
  if (profile === 'baseline' && policy.pod_security === 'restricted')
    return [
      { loc, msg: 'must not be baseline, because the policy requires the Pod Security level restricted' },
    ];
  if (policy.security_profiles.includes(profile)) return [];
  return [{ loc, msg: `must not be ${profile}, because the policy does not allow this profile` }];
}

/** Security contexts and volumes that do not meet the level of the policy, or the profile restricted. */
export function podSecurityIssues({ spec, settings }: PodView, policy: Policy): Violation[] {
  const level = settings.security_profile === 'restricted' ? 'restricted' : policy.pod_security;
  return podSecurityViolations(level, spec).map(({ path, message }) => ({
    loc: ['source_config', 'resource_spec', ...path],
    msg: message,
  }));
}
