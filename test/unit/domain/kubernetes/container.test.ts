import { describe } from 'vitest';
import { containerSchema, containersSchema } from '../../../../src/domain/kubernetes/container.ts';
import { accepts, rejects } from './cases.ts';

const c = (over: object = {}) => ({ name: 'c', image: 'busybox', ...over });
const env = (...variables: object[]) => c({ env: variables });
const from = (valueFrom: object) => env({ name: 'A', valueFrom });
const envFrom = (...sources: object[]) => c({ envFrom: sources });
const key = { name: 'n', key: 'k' };
const res = (limits?: object, requests?: object) => c({ resources: { limits, requests } });
const sc = (securityContext: object) => c({ securityContext });

describe('containerSchema', () => {
  accepts(containerSchema, [
    ['a minimal container', c()],
    [
      'simple members',
      c({
        imagePullPolicy: 'Never',
        command: ['sh', '-c', 'a\nb\t'],
        args: [''],
        workingDir: '/w',
        restartPolicy: 'OnFailure',
      }),
    ],
    [
      'variables',
      env(
        { name: 'A' },
        { name: 'B', value: '' },
        { name: 'C', value: 'x\ny' },
        { name: 'PORT', value: '80' },
      ),
    ],
    ['a field', from({ fieldRef: { fieldPath: 'status.hostIPs' } })],
    ['a label', from({ fieldRef: { fieldPath: "metadata.labels['a/b']" } })],
    ['a resource', from({ resourceFieldRef: { resource: 'requests.ephemeral-storage', divisor: '1Gi' } })],
    ['a key of a ConfigMap', from({ configMapKeyRef: { ...key, optional: true } })],
    ['a key of a Secret', from({ secretKeyRef: key })],
    ['an empty value beside valueFrom', env({ name: 'A', value: '', valueFrom: { secretKeyRef: key } })],
    [
      'envFrom',
      envFrom(
        { prefix: 'P_', configMapRef: { name: 'c', optional: true } },
        { prefix: '', secretRef: { name: 's' } },
      ),
    ],
    ['equal request and limit', res({ cpu: '1', memory: '1Gi' }, { cpu: '1000m', memory: '1024Mi' })],
    ['zero', res({ cpu: '0' }, { cpu: '0' })],
    ['a request alone', res(undefined, { 'ephemeral-storage': '1Gi' })],
    ['an extended resource', res({ 'example.com/gpu': '1' }, { 'example.com/gpu': '1' })],
    ['huge pages', res({ 'hugepages-2Mi': '4Mi', memory: '1Gi' })],
    [
      'a security context',
      sc({
        runAsUser: 0,
        runAsGroup: 2147483647,
        readOnlyRootFilesystem: true,
        procMount: 'Default',
        capabilities: { add: ['NET_ADMIN', 'CAP_CHOWN'], drop: ['ALL'] },
        seLinuxOptions: { type: 't' },
      }),
    ],
    ['privileged', sc({ privileged: true, allowPrivilegeEscalation: true })],
    [
      'a seccomp profile of the node',
      sc({ seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } }),
    ],
    [
      'Bidirectional where privileged',
      c({
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
      }),
    ],
  ]);

  rejects(containerSchema, [
    ['a missing name', { image: 'a' }, 'name'],
    ['a bad name', c({ name: 'a_b' }), 'name'],
    ['a missing image', { name: 'c' }, 'image'],
    ['an empty image', c({ image: '' }), 'image'],
    ['an image with a space', c({ image: ' busybox' }), 'image'],
    ['an unknown pull policy', c({ imagePullPolicy: 'Sometimes' }), 'imagePullPolicy'],
    ['a command that is text', c({ command: 'sh' }), 'command'],
    ['a number in args', c({ args: [1] }), 'args.0'],
    ['NUL in args', c({ args: ['a\u0000'] }), 'args.0'],
    ['too many args', c({ args: Array.from({ length: 257 }, () => 'a') }), 'args'],
    ['a relative workingDir', c({ workingDir: 'a' }), 'workingDir'],
    ['an unknown restartPolicy', c({ restartPolicy: 'Sometimes' }), 'restartPolicy'],
    ...[
      'ports',
      'lifecycle',
      'livenessProbe',
      'volumeDevices',
      'tty',
      'stdin',
      'resizePolicy',
      'restartPolicyRules',
      'hostPort',
      'terminationMessagePath',
    ].map((member) => [member, c({ [member]: [] }), member] as const),

    ['a variable without name', env({ value: 'a' }), 'env.0.name'],
    ["a name with '='", env({ name: 'A=B' }), 'env.0.name'],
    ['a number as value', env({ name: 'A', value: 1 }), 'env.0.value'],
    ['NUL as value', env({ name: 'A', value: '\u0000' }), 'env.0.value'],
    [
      'value and valueFrom',
      env({ name: 'A', value: 'a', valueFrom: { secretKeyRef: key } }),
      'env.0.valueFrom',
    ],
    ['a variable twice', env({ name: 'A' }, { name: 'A' }), 'env.1.name'],
    ['an empty valueFrom', from({}), 'env.0.valueFrom'],
    ['two sources', from({ secretKeyRef: key, configMapKeyRef: key }), 'env.0.valueFrom.secretKeyRef'],
    ['fileKeyRef', from({ fileKeyRef: {} }), 'env.0.valueFrom.fileKeyRef'],
    [
      'a whole label map',
      from({ fieldRef: { fieldPath: 'metadata.labels' } }),
      'env.0.valueFrom.fieldRef.fieldPath',
    ],
    [
      'a field of the status that is not offered',
      from({ fieldRef: { fieldPath: 'status.phase' } }),
      'env.0.valueFrom.fieldRef.fieldPath',
    ],
    [
      'an unknown resource of a resourceFieldRef',
      from({ resourceFieldRef: { resource: 'limits.gpu' } }),
      'env.0.valueFrom.resourceFieldRef.resource',
    ],
    [
      'a key with a slash',
      from({ secretKeyRef: { name: 'n', key: 'a/b' } }),
      'env.0.valueFrom.secretKeyRef.key',
    ],
    [
      'a reference without name',
      from({ configMapKeyRef: { key: 'k' } }),
      'env.0.valueFrom.configMapKeyRef.name',
    ],

    ['envFrom without source', envFrom({ prefix: 'A' }), 'envFrom.0'],
    [
      'envFrom with two sources',
      envFrom({ configMapRef: { name: 'a' }, secretRef: { name: 'a' } }),
      'envFrom.0.secretRef',
    ],
    ['envFrom with a bad prefix', envFrom({ prefix: 'A=', secretRef: { name: 'a' } }), 'envFrom.0.prefix'],
    ['envFrom with a bad name', envFrom({ secretRef: { name: 'A' } }), 'envFrom.0.secretRef.name'],

    ['request above limit', res({ memory: '1Gi' }, { memory: '1025Mi' }), 'resources.requests.memory'],
    ['a negative quantity', res({ cpu: '-1' }), 'resources.limits.cpu'],
    ['a text that is not a quantity', res({ cpu: 'much' }), 'resources.limits.cpu'],
    ['too fine a cpu', res({ cpu: '100u' }), 'resources.limits.cpu'],
    ['thousandths of a byte', res({ memory: '400m' }), 'resources.limits.memory'],
    ['too many cores', res({ cpu: '257' }), 'resources.limits.cpu'],
    ['more than int64', res(undefined, { memory: '99999999999999999999' }), 'resources.requests.memory'],
    ['an unknown resource', res({ gpu: '1' }), 'resources.limits.gpu'],
    ['a quota name', res({ 'requests.example.com/gpu': '1' }), 'resources.limits.requests.example.com/gpu'],
    [
      "a resource of Kubernetes' own name space",
      res({ 'kubernetes.io/x': '1' }),
      'resources.limits.kubernetes.io/x',
    ],
    ['half an extended resource', res({ 'example.com/gpu': '500m' }), 'resources.limits.example.com/gpu'],
    ['an extended request without limit', res({}, { 'example.com/gpu': '1' }), 'resources.limits'],
    [
      'an extended request below its limit',
      res({ 'example.com/gpu': '2' }, { 'example.com/gpu': '1' }),
      'resources.requests.example.com/gpu',
    ],
    ['huge pages alone', res({ 'hugepages-2Mi': '2Mi' }), 'resources'],
    ['half a huge page', res({ 'hugepages-2Mi': '3Mi', cpu: '1' }), 'resources.limits.hugepages-2Mi'],
    ['claims', c({ resources: { claims: [] } }), 'resources.claims'],

    ['a user above the range', sc({ runAsUser: 2 ** 31 }), 'securityContext.runAsUser'],
    ['a negative group', sc({ runAsGroup: -1 }), 'securityContext.runAsGroup'],
    ['a fractional user', sc({ runAsUser: 1.5 }), 'securityContext.runAsUser'],
    ['root that must not be root', sc({ runAsNonRoot: true, runAsUser: 0 }), 'securityContext.runAsUser'],
    [
      'privileged without escalation',
      sc({ privileged: true, allowPrivilegeEscalation: false }),
      'securityContext.allowPrivilegeEscalation',
    ],
    [
      'CAP_SYS_ADMIN without escalation',
      sc({ capabilities: { add: ['CAP_SYS_ADMIN'] }, allowPrivilegeEscalation: false }),
      'securityContext.allowPrivilegeEscalation',
    ],
    [
      'a capability in lower case',
      sc({ capabilities: { add: ['net_admin'] } }),
      'securityContext.capabilities.add.0',
    ],
    ['an unmasked /proc', sc({ procMount: 'Unmasked' }), 'securityContext.procMount'],
    [
      'Localhost without profile',
      sc({ seccompProfile: { type: 'Localhost' } }),
      'securityContext.seccompProfile.localhostProfile',
    ],
    [
      'a profile without Localhost',
      sc({ seccompProfile: { type: 'RuntimeDefault', localhostProfile: 'a' } }),
      'securityContext.seccompProfile.localhostProfile',
    ],
    [
      'an escaping profile',
      sc({ seccompProfile: { type: 'Localhost', localhostProfile: '../a' } }),
      'securityContext.seccompProfile.localhostProfile',
    ],
    [
      'AppArmor Localhost without profile',
      sc({ appArmorProfile: { type: 'Localhost', localhostProfile: '' } }),
      'securityContext.appArmorProfile.localhostProfile',
    ],
    [
      'a padded AppArmor profile',
      sc({ appArmorProfile: { type: 'Localhost', localhostProfile: ' a' } }),
      'securityContext.appArmorProfile.localhostProfile',
    ],
    ['a profile without type', sc({ appArmorProfile: {} }), 'securityContext.appArmorProfile.type'],
    ['windowsOptions', sc({ windowsOptions: {} }), 'securityContext.windowsOptions'],
    ['fields of a pod', sc({ fsGroup: 1, sysctls: [] }), 'securityContext.fsGroup'],
    [
      'Bidirectional without privileged',
      c({ volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] }),
      'volumeMounts.0.mountPropagation',
    ],
    [
      'a path twice',
      c({
        volumeMounts: [
          { name: 'v', mountPath: '/v' },
          { name: 'w', mountPath: '/v' },
        ],
      }),
      'volumeMounts.1.mountPath',
    ],
  ]);
});

describe('containersSchema', () => {
  rejects(containersSchema, [
    ['a name twice', [c(), c({ image: 'x' })], '1.name'],
    ['too many', Array.from({ length: 21 }, (_, index) => c({ name: `c${index}` })), ''],
  ]);
});
