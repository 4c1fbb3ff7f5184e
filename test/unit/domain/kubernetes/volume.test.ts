import { describe } from 'vitest';
import { volumeMountsSchema, volumeSchema, volumesSchema } from '../../../../src/domain/kubernetes/volume.ts';
import { accepts, rejects } from './cases.ts';

const v = (source: object) => ({ name: 'v', ...source });
const item = (over: object = {}) => ({ key: 'k', path: 'p', ...over });
const cm = (over: object) => v({ configMap: { name: 'c', ...over } });
const projected = (...sources: object[]) => v({ projected: { sources } });
const downward = (file: object) => v({ downwardAPI: { items: [file] } });

describe('volumeSchema', () => {
  accepts(volumeSchema, [
    ['a volume without a source', v({})],
    ['a configMap', cm({ items: [item({ mode: 0o777 })], defaultMode: 0, optional: true })],
    ['a secret', v({ secret: { secretName: 's.x', items: [], defaultMode: 511, optional: false } })],
    ['an emptyDir', v({ emptyDir: {} })],
    ['an emptyDir in memory', v({ emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } })],
    ['an emptyDir on the default medium', v({ emptyDir: { medium: '' } })],
    ['an emptyDir of huge pages', v({ emptyDir: { medium: 'HugePages-2Mi' } })],
    ['a claim', v({ persistentVolumeClaim: { claimName: 'p', readOnly: true } })],
    ['nfs', v({ nfs: { server: '192.0.2.1', path: '/', readOnly: false } })],
    [
      'inline csi',
      v({
        csi: {
          driver: 'A.b',
          readOnly: true,
          fsType: 'ext4',
          volumeAttributes: { a: 'b' },
          nodePublishSecretRef: { name: 's' },
        },
      }),
    ],
    ['an empty projected volume', v({ projected: {} })],
    [
      'a projected volume with all sources',
      projected(
        { configMap: { name: 'c' } },
        { secret: { name: 's', optional: true } },
        { downwardAPI: {} },
        { serviceAccountToken: { path: 't', expirationSeconds: 600, audience: 'a' } },
      ),
    ],
    [
      'a field',
      downward({
        path: 'p',
        mode: 0,
        fieldRef: { apiVersion: 'v1', fieldPath: "metadata.annotations['Example.com/a']" },
      }),
    ],
    [
      'a resource',
      downward({
        path: 'p',
        resourceFieldRef: { containerName: 'app', resource: 'limits.memory', divisor: '1Mi' },
      }),
    ],
  ]);

  rejects(volumeSchema, [
    ['a missing name', { emptyDir: {} }, 'name'],
    ['a bad name', { name: 'V' }, 'name'],
    ['two sources', v({ emptyDir: {}, nfs: { server: 's', path: '/' } }), 'nfs'],
    ['hostPath', v({ hostPath: { path: '/' } }), 'hostPath'],
    ['ephemeral', v({ ephemeral: {} }), 'ephemeral'],
    ['image', v({ image: {} }), 'image'],
    ['a source that is text', v({ emptyDir: 'yes' }), 'emptyDir'],
    ['configMap without name', v({ configMap: {} }), 'configMap.name'],
    ['configMap with a bad name', cm({ name: 'A b' }), 'configMap.name'],
    ['configMap with unknown key', cm({ secretName: 'a' }), 'configMap.secretName'],
    ['a mode above 0777', cm({ defaultMode: 0o1000 }), 'configMap.defaultMode'],
    ['a negative mode', cm({ items: [item({ mode: -1 })] }), 'configMap.items.0.mode'],
    ['a fractional mode', cm({ items: [item({ mode: 1.5 })] }), 'configMap.items.0.mode'],
    ['an octal text as mode', cm({ defaultMode: '0644' }), 'configMap.defaultMode'],
    ['an item without path', cm({ items: [{ key: 'k' }] }), 'configMap.items.0.path'],
    ['an item without key', cm({ items: [{ path: 'k' }] }), 'configMap.items.0.key'],
    ['an absolute item path', cm({ items: [item({ path: '/p' })] }), 'configMap.items.0.path'],
    ['an escaping item path', cm({ items: [item({ path: 'a/../../b' })] }), 'configMap.items.0.path'],
    [
      "an item path in the kubelet's name space",
      cm({ items: [item({ path: '..data' })] }),
      'configMap.items.0.path',
    ],
    ['secret without secretName', v({ secret: { name: 's' } }), 'secret.secretName'],
    ['an unknown medium', v({ emptyDir: { medium: 'Disk' } }), 'emptyDir.medium'],
    ['a bad size', v({ emptyDir: { sizeLimit: '1GB' } }), 'emptyDir.sizeLimit'],
    ['a negative size', v({ emptyDir: { sizeLimit: '-1' } }), 'emptyDir.sizeLimit'],
    ['a claim without name', v({ persistentVolumeClaim: {} }), 'persistentVolumeClaim.claimName'],
    ['nfs without server', v({ nfs: { path: '/' } }), 'nfs.server'],
    ['nfs with a relative path', v({ nfs: { server: 's', path: 'p' } }), 'nfs.path'],
    ['csi without driver', v({ csi: {} }), 'csi.driver'],
    ['csi with a long driver', v({ csi: { driver: 'a'.repeat(64) } }), 'csi.driver'],
    ['csi with a bad driver', v({ csi: { driver: 'a_b' } }), 'csi.driver'],
    [
      'csi with a numeric attribute',
      v({ csi: { driver: 'a', volumeAttributes: { a: 1 } } }),
      'csi.volumeAttributes.a',
    ],
    [
      'csi with an empty secret name',
      v({ csi: { driver: 'a', nodePublishSecretRef: { name: '' } } }),
      'csi.nodePublishSecretRef.name',
    ],
    ['an empty projected source', projected({}), 'projected.sources.0'],
    [
      'two sources in one projected source',
      projected({ configMap: { name: 'c' }, secret: { name: 's' } }),
      'projected.sources.0.secret',
    ],
    [
      'clusterTrustBundle',
      projected({ clusterTrustBundle: { name: 'c', path: 'p' } }),
      'projected.sources.0.clusterTrustBundle',
    ],
    [
      'a projected path twice',
      projected({ configMap: { name: 'c', items: [item()] } }, { secret: { name: 's', items: [item()] } }),
      'projected.sources.1.secret.items.0.path',
    ],
    [
      "a token at another file's path",
      projected({ configMap: { name: 'c', items: [item()] } }, { serviceAccountToken: { path: 'p' } }),
      'projected.sources.1.serviceAccountToken.path',
    ],
    [
      'a token for too short',
      projected({ serviceAccountToken: { path: 't', expirationSeconds: 599 } }),
      'projected.sources.0.serviceAccountToken.expirationSeconds',
    ],
    [
      'a token for too long',
      projected({ serviceAccountToken: { path: 't', expirationSeconds: 2 ** 32 + 1 } }),
      'projected.sources.0.serviceAccountToken.expirationSeconds',
    ],
    [
      'a token without path',
      projected({ serviceAccountToken: {} }),
      'projected.sources.0.serviceAccountToken.path',
    ],
    ['a file of nothing', downward({ path: 'p' }), 'downwardAPI.items.0.fieldRef'],
    [
      'a file of two fields',
      downward({
        path: 'p',
        fieldRef: { fieldPath: 'metadata.name' },
        resourceFieldRef: { containerName: 'a', resource: 'limits.cpu' },
      }),
      'downwardAPI.items.0.resourceFieldRef',
    ],
    [
      'a status field in a volume',
      downward({ path: 'p', fieldRef: { fieldPath: 'status.podIP' } }),
      'downwardAPI.items.0.fieldRef.fieldPath',
    ],
    [
      'an unknown field',
      downward({ path: 'p', fieldRef: { fieldPath: 'spec.containers' } }),
      'downwardAPI.items.0.fieldRef.fieldPath',
    ],
    [
      'a bad subscript',
      downward({ path: 'p', fieldRef: { fieldPath: "metadata.labels['']" } }),
      'downwardAPI.items.0.fieldRef.fieldPath',
    ],
    [
      'a subscript where none may be',
      downward({ path: 'p', fieldRef: { fieldPath: "metadata.name['a']" } }),
      'downwardAPI.items.0.fieldRef.fieldPath',
    ],
    [
      'another apiVersion',
      downward({ path: 'p', fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } }),
      'downwardAPI.items.0.fieldRef.apiVersion',
    ],
    [
      'a resource without container',
      downward({ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }),
      'downwardAPI.items.0.resourceFieldRef.containerName',
    ],
    [
      'a cpu divisor of bytes',
      downward({
        path: 'p',
        resourceFieldRef: { containerName: 'a', resource: 'limits.cpu', divisor: '1Mi' },
      }),
      'downwardAPI.items.0.resourceFieldRef.divisor',
    ],
    [
      'an odd divisor',
      downward({
        path: 'p',
        resourceFieldRef: { containerName: 'a', resource: 'limits.memory', divisor: '2Mi' },
      }),
      'downwardAPI.items.0.resourceFieldRef.divisor',
    ],
  ]);
});

describe('volumesSchema', () => {
  accepts(volumesSchema, [['different names', [v({}), { name: 'w' }]]]);
  rejects(volumesSchema, [
    ['a name twice', [v({}), v({ emptyDir: {} })], '1.name'],
    ['too many', Array.from({ length: 65 }, (_, index) => ({ name: `v${index}` })), ''],
    ['null', [null], '0'],
  ]);
});

const mount = (over: object = {}) => ({ name: 'v', mountPath: '/m', ...over });

describe('volumeMountsSchema', () => {
  accepts(volumeMountsSchema, [
    [
      'all six fields',
      [
        mount({ subPath: 'a/b', mountPropagation: 'HostToContainer', readOnly: true }),
        mount({ mountPath: '/n', subPathExpr: '$(POD)' }),
      ],
    ],
    ['one volume at two paths', [mount(), mount({ mountPath: '/n' })]],
    ['empty sub paths', [mount({ subPath: '', subPathExpr: 'a' })]],
    ['paths below each other', [mount(), mount({ mountPath: '/m/n' })]],
  ]);
  rejects(volumeMountsSchema, [
    ['a missing name', [{ mountPath: '/m' }], '0.name'],
    ['a missing path', [{ name: 'v' }], '0.mountPath'],
    ['an empty path', [mount({ mountPath: '' })], '0.mountPath'],
    ['a relative path', [mount({ mountPath: 'm' })], '0.mountPath'],
    ['the root', [mount({ mountPath: '//' })], '0.mountPath'],
    ['a colon', [mount({ mountPath: '/a:b' })], '0.mountPath'],
    ['a path that climbs', [mount({ mountPath: '/a/../etc' })], '0.mountPath'],
    ['NUL', [mount({ mountPath: '/a\u0000' })], '0.mountPath'],
    ['an escaping subPath', [mount({ subPath: '../../etc' })], '0.subPath'],
    ['an absolute subPath', [mount({ subPath: '/etc' })], '0.subPath'],
    ['an escaping subPathExpr', [mount({ subPathExpr: '$(A)/../..' })], '0.subPathExpr'],
    ['both sub paths', [mount({ subPath: 'a', subPathExpr: 'b' })], '0.subPathExpr'],
    ['an unknown propagation', [mount({ mountPropagation: 'Both' })], '0.mountPropagation'],
    ['recursiveReadOnly', [mount({ recursiveReadOnly: 'Enabled' })], '0.recursiveReadOnly'],
    ['a path twice', [mount(), mount()], '1.mountPath'],
    [
      'a path twice, written differently',
      [mount({ mountPath: '/a/b' }), mount({ mountPath: '/a/./b/' })],
      '1.mountPath',
    ],
    ['a text as readOnly', [mount({ readOnly: 'true' })], '0.readOnly'],
  ]);
});
