import { z } from 'zod';
import type { ClusterNode } from '#conductor/cluster/kubernetes/objects.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';

/**
 * Labels that were taken from a node, kept at the cluster's node itself: they can be put back as long as there is that
 * node, whoever took them and however it ended. Sealed, since a kubelet may annotate its node, and must not give itself
 * labels in that way.
 */
export const takenLabelsKey = 'baton/taken-labels';

const TakenLabels = z.record(z.string(), z.string());

/** With those that are taken now. @returns annotations of the node */
export function keepTakenLabels(
  secrets: Secrets,
  node: ClusterNode,
  taken: readonly { readonly label: string; readonly value: string }[],
): Readonly<Record<string, string>> {
  const labels = { ...readTakenLabels(secrets, node) };
  for (const { label, value } of taken) labels[label] = value;
  return { [takenLabelsKey]: secrets.seal(JSON.stringify(labels), placeOf(node)) };
}

/** @throws AppError `invalid_argument` when they were not sealed here, for this node */
export function readTakenLabels(secrets: Secrets, node: ClusterNode): Readonly<Record<string, string>> {
  const sealed = node.metadata.annotations?.[takenLabelsKey];
  return sealed === undefined ? {} : TakenLabels.parse(JSON.parse(secrets.open(sealed, placeOf(node))));
}

function placeOf({ metadata: { name, uid } }: ClusterNode): string {
  return `labels taken from Kubernetes node ${name} (${uid})`;
}
