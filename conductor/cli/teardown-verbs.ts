import type { CommandOption } from '#conductor/cli/command.ts';

/** Seed 001's operations on one node; their options are called as their query parameters. */
export interface TeardownVerb {
  readonly words: string;
  readonly meaning: string;
  readonly details?: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  /** It needs the site's documents. */
  readonly design?: true;
  /** What stands as it is when it is broken off. @param node its name */
  readonly leaves: (node: string) => string;
}

/** What it is when it is not given: a test holds it to what the conductor takes. */
export interface Seconds extends CommandOption {
  readonly value: 'SECONDS';
  readonly seconds: number;
}

const limit = (meaning: string, seconds: number): Seconds => ({
  value: 'SECONDS',
  seconds,
  meaning: `${meaning} (default: ${seconds})`,
});
const grace = (meaning: string): CommandOption => ({
  value: 'SECONDS',
  meaning: `${meaning} (default: half of the timeout, at most 1800)`,
});
const atOnce = '0 = deleted at once, its containers may still run';
/** Until a kubelet is silent. */
export const kubeletSeconds = 300;
export const designOption = {
  design: {
    value: 'REVISION',
    required: "a revision's number, committed, successful-site-action or last-site-action",
    meaning: 'whose documents: a number, committed, successful-site-action, last-site-action',
  },
} as const;
const forceOption = { force: { meaning: 'though it is the last Ready node of its cluster, or of a role' } } as const;
const daemonSetOptions = {
  'apply-daemon-set': { meaning: 'put the daemon set that stops kubelets into the cluster first' },
  'daemon-set-image': { value: 'IMAGE', meaning: 'for its container, with a shell and nsenter' },
} as const;
const cordoned = (node: string): string =>
  `${node} stays cordoned, and what was evicted goes: baton restore-labels ${node} (or kubectl uncordon ${node}) gives it back to the cluster`;

export const teardownVerbs: readonly TeardownVerb[] = [
  {
    words: 'drain',
    meaning: 'cordon a node of the Kubernetes cluster and evict its pods, disruption budgets honoured',
    options: {
      timeout: limit('for all of it', 3600),
      'grace-period': grace(`that each pod gets to end by itself; less than the timeout; ${atOnce}`),
      ...forceOption,
      'dry-run': { meaning: 'only say which pods would be evicted, lost, or kept by budgets' },
    },
    leaves: cordoned,
  },
  {
    words: 'clear-labels',
    meaning: "take away a node's labels that somebody has added, and wait until pods have settled",
    options: { timeout: limit('for all of it', 1800), ...forceOption },
    leaves: (node) => `labels that ${node} has lost stay away`,
  },
  {
    words: 'restore-labels',
    meaning: 'put back the labels that were cleared from a node, and uncordon it',
    options: { timeout: limit('for all of it', 120) },
    leaves: (node) => `${node} may have its labels back already: kubectl get node ${node} --show-labels shows it`,
  },
  {
    words: 'remove-etcd',
    meaning: "have a node's etcd members leave their clusters; refused where a cluster needs them",
    design: true,
    options: { ...designOption, timeout: limit('for all of it', 1800) },
    leaves: (node) => `members of ${node} that have left stay out`,
  },
  {
    words: 'shutdown-kubelet',
    meaning: 'have a node stop its kubelet, by the label that the daemon set waits for',
    options: { timeout: limit('for all of it', kubeletSeconds), ...daemonSetOptions },
    leaves: (node) => `${node} keeps its label promenade-decomission, so its kubelet may stop yet`,
  },
  {
    words: 'remove-from-cluster',
    meaning: 'delete a node from the Kubernetes cluster, once it is drained and without labels',
    options: { timeout: limit('for all of it', 120) },
    leaves: (node) => `${node} may be gone already: kubectl get node ${node} shows it`,
  },
  {
    words: 'decommission',
    meaning: 'drain, clear-labels, remove-etcd, wait for etcd, shutdown-kubelet: all that comes before a wipe',
    details: 'A kubelet that cannot be stopped is reported, and is no failure: powering the machine off stops it too.',
    design: true,
    options: {
      ...designOption,
      'drain-node-timeout': limit('for the drain', 3600),
      'drain-node-grace-period': grace(`that each pod gets to end by itself; ${atOnce}`),
      ...forceOption,
      'clear-labels-timeout': limit('for the pods to settle', 1800),
      'remove-etcd-timeout': limit('for the etcd members to leave', 1800),
      'etcd-ready-timeout': limit('for the etcd clusters to become stable', 600),
      ...daemonSetOptions,
    },
    leaves: (node) => `what it has done stays done; ${cordoned(node)}`,
  },
];
