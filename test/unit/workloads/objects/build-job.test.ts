import type { V1JobSpec } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { BuildConfig } from '../../../../src/contract/render/build-config.ts';
import type { BuildSpec } from '../../../../src/contract/resource/build.ts';
import { buildJob } from '../../../../src/workloads/objects/build-job.ts';
import { buildOf, CONFIG, resourceWith } from '../../cluster/operator/builds/fixtures.ts';

function podOf(more: Partial<BuildConfig>) {
  const resource = resourceWith({ number: 7 });
  const job = buildJob(resource, buildOf(resource), { ...CONFIG, ...more }, 1);
  const pod = (job.spec as V1JobSpec).template.spec;
  const [source, image] = pod?.initContainers ?? [];
  if (pod == null || source === undefined || image === undefined) throw new Error('the Job has no steps');
  return { pod, source, image, result: pod.containers[0] };
}

describe('the pod of a build of an uploaded folder', () => {
  const upload = { digest: `sha256:${'a'.repeat(64)}`, repository: 'registry.example/t/shop-1/sources' };

  function uploadPod(more: Partial<BuildSpec> = {}, config: Partial<BuildConfig> = {}) {
    const resource = resourceWith({ number: 7 });
    const { repoUrl: _repoUrl, ref: _ref, configPath: _configPath, ...build } = buildOf(resource);
    const job = buildJob(resource, { ...build, upload, ...more }, { ...CONFIG, ...config }, 1);
    const pod = (job.spec as V1JobSpec).template.spec;
    return { pod, source: pod?.initContainers?.[0], image: pod?.initContainers?.[1] };
  }

  test('fetches the upload by its digest, with the limits of the policy', () => {
    expect(uploadPod().source?.args).toEqual([
      'build-step',
      'upload',
      '--repository=registry.example/t/shop-1/sources',
      `--digest=${upload.digest}`,
      '--max-packed-mb=64',
      '--max-unpacked-mb=512',
      '--max-entries=50000',
      '--max-path-bytes=1024',
      '--workspace=/workspace',
      '--credentials=/credentials/git',
    ]);
    const { source } = uploadPod(
      { upload: { ...upload, dockerfile: '-$(HOME)' }, installCommand: 'make' },
      { insecureRegistry: true },
    );
    expect(source?.args).toEqual(
      expect.arrayContaining(['--dockerfile=-$$(HOME)', '--install-command=make', '--insecure-registry']),
    );
  });

  test('mounts the credentials for the upload only in the first step, and those for the image only in the second', () => {
    const { pod, source, image } = uploadPod();
    const secretOf = (name: string) => pod?.volumes?.find((volume) => volume.name === name)?.secret;
    expect(secretOf('git')?.items).toEqual([{ key: 'source-config.json', path: 'source-config.json' }]);
    expect(secretOf('git')?.optional).toBeUndefined();
    const mounts = (step: typeof source) => step?.volumeMounts?.map(({ name }) => name);
    expect(mounts(source)).toContain('git');
    expect(mounts(source)).not.toContain('registry');
    expect(mounts(image)).toContain('registry');
    expect(mounts(image)).not.toContain('git');
  });
});

describe('the pod of a build', () => {
  test('pushes a tag of its revision, and has cache mounts only of its deployment', () => {
    const { image } = podOf({});
    expect(image.args).toContain('--output=type=image,name=registry.example/t/shop-1:rev-7,push=true');
    expect(image.args).toContain('--opt=build-arg:BUILDKIT_CACHE_MOUNT_NS=id-shop-1');
  });

  test('has no pull Secret, certificate authorities or proxy when none is set', () => {
    const text = JSON.stringify(podOf({}).pod);
    for (const word of ['imagePullSecrets', 'SSL_CERT_DIR', 'PROXY', 'certificates']) {
      expect(text).not.toContain(word);
    }
  });

  test('uses the pull Secret that the platform names', () => {
    expect(podOf({ pullSecret: 'mirror' }).pod.imagePullSecrets).toEqual([{ name: 'mirror' }]);
  });

  test('trusts the certificate authorities of the ConfigMap, for git hosts and in BuildKit', () => {
    const { pod, source, image, result } = podOf({ caConfigMap: 'authorities' });
    expect(pod.volumes).toContainEqual({ name: 'ca', configMap: { name: 'authorities' } });
    expect(source.env).toContainEqual({ name: 'BERTH_BUILD_CA', value: '/certificates/ca.crt' });
    expect(image.env).toContainEqual({ name: 'SSL_CERT_DIR', value: '/etc/ssl/certs:/certificates' });
    const mounts = [source, image, result].map((step) =>
      step?.volumeMounts?.some(({ name }) => name === 'ca'),
    );
    expect(mounts).toEqual([true, true, false]);
  });

  test('uses the proxy for BuildKit and its commands, but not for the step that clones', () => {
    const { source, image } = podOf({
      proxy: { url: 'http://proxy.example:3128', except: 'a.example,10.0.0.0/8' },
    });
    expect(image.env).toEqual(
      expect.arrayContaining([
        { name: 'HTTP_PROXY', value: 'http://proxy.example:3128' },
        { name: 'HTTPS_PROXY', value: 'http://proxy.example:3128' },
        { name: 'NO_PROXY', value: 'a.example,10.0.0.0/8' },
      ]),
    );
    expect(image.args).toContain('--opt=build-arg:NO_PROXY=a.example,10.0.0.0/8');
    expect(JSON.stringify(source)).not.toContain('proxy.example');
  });
});
