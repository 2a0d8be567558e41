import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { apiPath, type Cluster, mergePatch } from '#conductor/cluster/kubernetes/cluster.ts';
import { AppError } from '#shared/errors/app-error.ts';

const file = new URL('kubelet-shutdown.yaml', import.meta.url);

const Manifest = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({ containers: z.tuple([z.looseObject({ image: z.string() })]) }),
    }),
  }),
});

/**
 * Puts `kubelet-shutdown.yaml` into the cluster, or brings the one that is there in line with it.
 * @param image for its container; default: the manifest's
 * @throws AppError as `Cluster.request`
 */
export async function applyDaemonSet(cluster: Cluster, image: string | undefined, signal: AbortSignal): Promise<void> {
  const manifest = Manifest.parse(parse(await readFile(file, 'utf8')));
  if (image !== undefined) manifest.spec.template.spec.containers[0].image = image;
  const { name, namespace } = manifest.metadata;
  const path = apiPath('/apis/apps/v1/namespaces', namespace, 'daemonsets');
  try {
    await cluster.request('POST', path, { body: manifest, signal });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    await cluster.request('PATCH', apiPath(path, name), { body: manifest, contentType: mergePatch, signal });
  }
}
