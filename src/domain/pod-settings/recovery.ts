import type { FieldRecovery } from '../deployment/field-recovery.ts';

const BEFORE = 'PATCH the previous value, or null.';

/** The pod settings that a cluster can reject or never complete, with the recovery. */
export const POD_SETTING_RECOVERIES: readonly FieldRecovery[] = [
  {
    fields: ['source_config.security_profile'],
    refused:
      'The namespace enforces a stricter Pod Security level, or the image cannot run without root or without its capabilities.',
    reasons: ['AdmissionRefused', 'ContainerConfigInvalid', 'CrashLoop'],
    back: BEFORE,
  },
  {
    fields: ['source_config.health_checks'],
    refused:
      'The app does not pass the check: another answer than 2xx or 3xx, another port, or too little time.',
    reasons: ['ReadinessFailed', 'CrashLoop'],
    back: BEFORE,
  },
  {
    fields: ['source_config.placement'],
    refused: 'No node has the labels, or the nodes that have them have other taints or no room.',
    reasons: ['Unschedulable'],
    back: BEFORE,
  },
  {
    fields: ['source_config.gpu'],
    refused:
      'No node has so many free devices of this name, or a quota of the namespace does not allow them.',
    reasons: ['Unschedulable', 'QuotaExceeded'],
    back: BEFORE,
  },
  {
    fields: ['source_config.database', 'source_config.cache'],
    refused:
      'The app cannot run without the service that was switched off. Or a quota, a node or the storage has no room for a service that was switched on.',
    reasons: ['CrashLoop', 'ReadinessFailed', 'QuotaExceeded', 'DatabaseStarting', 'CacheStarting'],
    back: 'PATCH the previous value, or null. A service that was switched off runs until the new pods are ready without it, so it still runs then. A volume whose confirmed removal has begun is lost. Then the database can be switched on, with an empty volume, when the removal is complete.',
  },
];
