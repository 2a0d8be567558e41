import { readFile } from 'node:fs/promises';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { type PodOutline } from '#conductor/cluster/kubernetes/client/objects.ts';
import { parseReply } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { apiPath, mergePatch } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { controllerOf } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Returns which of the pods' daemon sets are still there, asked once for each set. */
export async function findDaemonSets(
  cluster: Cluster,
  pods: readonly PodOutline[],
  signal: AbortSignal,
): Promise<(pod: PodOutline) => boolean> {
  const sets = new Map(pods.flatMap((pod) => daemonSetOf(pod) ?? []).map((set) => [keyOf(set), set]));
  const found = await Promise.all(
    [...sets.values()].map(async (set) => ((await hasDaemonSet(cluster, set, signal)) ? [keyOf(set)] : [])),
  );
  const present = new Set(found.flat());
  return (pod) => {
    const set = daemonSetOf(pod);
    return set !== undefined && present.has(keyOf(set));
  };
}

interface DaemonSetName {
  readonly namespace: string;
  readonly name: string;
  /** Default `apps/v1`; others have daemon sets of their own, such as OpenKruise's `apps.kruise.io/v1alpha1`. */
  readonly apiVersion?: string;
}

function daemonSetOf(pod: PodOutline): DaemonSetName | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'DaemonSet') return undefined;
  return { namespace: pod.metadata.namespace, name: owner.name, apiVersion: owner.apiVersion };
}

function keyOf({ namespace, name, apiVersion }: DaemonSetName): string {
  return `${apiVersion} ${namespace}/${name}`;
}

const DaemonSet = z.looseObject({ kind: z.literal('DaemonSet'), metadata: z.looseObject({ name: z.string() }) });

/** Returns whether the daemon set is in the cluster. @throws AppError as `Cluster.request` */
export async function hasDaemonSet(
  cluster: Cluster,
  { namespace, name, apiVersion = 'apps/v1' }: DaemonSetName,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const path = apiPath(`${groupPath(apiVersion)}/namespaces`, namespace, 'daemonsets', name);
    parseReply(DaemonSet, await cluster.request('GET', path, { signal }), `daemon set ${namespace}/${name}`);
    return true;
  } catch (error) {
    if (isAbsent(error, { kind: 'daemonsets', name })) return false;
    throw error;
  }
}

/** @param apiVersion of an owner reference: anybody who may make pods may have written it */
function groupPath(apiVersion: string): string {
  const [group = '', version = ''] = apiVersion.split('/');
  return apiPath('/apis', group, version);
}

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
  const manifest = Manifest.parse(parseYaml(await readFile(file, 'utf8')));
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
