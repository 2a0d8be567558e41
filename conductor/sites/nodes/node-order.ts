import type { Caller } from '#conductor/kernel/caller.ts';
import { isRemark, type Remark, type RemarkValue } from '#conductor/model/remarks/remark.ts';
import { type OfRequest, requestIdsOf } from '#conductor/model/request-ids.ts';
import type { DecommissionTimeouts } from '#conductor/model/site/cluster-timeouts.ts';
import type { NodeOutcome, NodePhase } from '#conductor/model/site/site-run.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';

/**
 * An action's order about a node. Given again and again until it has ended; each time all that is known is in the
 * database.
 */
export interface NodeOrder {
  readonly node: SiteNode;
  readonly phase: NodePhase;
  /** The node is taken apart first, whatever is on it; the same of all nodes of an action. */
  readonly teardown?: TeardownOrder;
  /**
   * The operator has paused the action, or has stopped it just now: of a teardown nothing more is begun, for each of its
   * acts destroys something.
   */
  readonly paused?: boolean;
  /** Break off what this action has begun, and leave the node in a known state; it ends as `failed` with this reason. */
  readonly cancel?: string;
}

/** How a node is torn down (`decide-teardown.ts`), and what becomes of it then. */
export interface TeardownOrder {
  /** Only the OS disk is wiped. */
  readonly preserveLocalStorage: boolean;
  /** Seconds for each step of the decommission. */
  readonly timeouts: DecommissionTimeouts;
  /** A node in service that the cluster does not have is not a mistake. */
  readonly notInClusterOk: boolean;
  /** The last Ready node of a cluster, or of a role, leaves it too. */
  readonly force: boolean;
  /** Whether there is a Kubernetes cluster, and etcd clusters of the documents, that nodes are taken out of. */
  readonly kubernetes: boolean;
  readonly etcd: boolean;
  /**
   * The thing that this conductor lacks and the action needs for its clusters: `no BATON_KUBECONFIG`. Nothing is begun
   * without.
   */
  readonly lacks?: string;
  /** `keep`: it stays enrolled, wiped and off. `remove`: Baton forgets it. */
  readonly afterwards: 'deploy' | 'keep' | 'remove';
}

/** On whose word, and by which documents. */
export interface SiteWork {
  readonly action: OfRequest & {
    readonly id: string;
    readonly name: string;
    readonly user?: string | null | undefined;
    /**
     * Token of the lease that it is run under: nothing is begun for an action that has ended, or is another
     * conductor's.
     */
    readonly token?: number;
    /** Revision of the documents that `site` was read from. */
    readonly revisionId: number;
  };
  readonly site: Site;
}

/** One of its nodes. */
export interface NodeWork {
  readonly action: SiteWork['action'];
  readonly wanted: SiteNode;
}

/**
 * Report of an action that only looks at nodes, or describes them again: `done` = all is as it should be, or has been
 * made so.
 */
export type NodeReport = Exclude<NodeOutcome, { readonly state: 'working' }> & {
  /** One line each: what was found, or changed. */
  readonly findings: readonly string[];
  /**
   * Fields of the node that are not as the documents say; empty or absent = it is as documented, or nobody has looked.
   */
  readonly differs?: readonly string[];
};

/** Nodes are written as by clients of today: the newest version that the API serves. */
export const requestVersion = 96;

/** In whose name an action asks for what it does: its user's, who is an administrator, or there would be no action. */
export function siteCaller({ id, user, ...ids }: SiteWork['action']): Caller {
  return { user: user ?? undefined, role: 'admin', project: undefined, via: `site action ${id}`, ...requestIdsOf(ids) };
}

interface Named {
  readonly name: string;
  /** Absent = it is not enrolled. */
  readonly uuid?: string | undefined;
}

/**
 * Flows and the API call a node by its UUID, as Ironic does; who has a site knows it by its name. Other UUIDs stay, those
 * in URLs too. Pure.
 */
export function inItsName(text: string, { name, uuid }: Named): string {
  if (uuid === undefined) return text;
  return ['node', 'Node'].reduce(
    (reported, word) => reported.replaceAll(`${word} ${uuid}`, () => `${word} ${name}`),
    text,
  );
}

/** The same of what has become of it, which is about this node. Pure. */
export function aboutNode(outcome: NodeOutcome, node: Named): NodeOutcome {
  if (outcome.state === 'working') return { ...outcome, doing: remarkOn(outcome.doing, node) };
  if (outcome.state === 'failed') return { ...outcome, error: remarkOn(outcome.error, node) };
  return outcome.remark === undefined ? outcome : { ...outcome, remark: remarkOn(outcome.remark, node) };
}

function remarkOn(remark: Remark, node: Named): Remark {
  const named = (value: RemarkValue): RemarkValue => {
    if (typeof value === 'string') return inItsName(value, node);
    return isRemark(value) ? { ...value, arguments: mapArguments(value, named) } : value;
  };
  return { code: remark.code, subject: node.name, arguments: mapArguments(remark, named) };
}

function mapArguments({ arguments: given }: Remark, map: (value: RemarkValue) => RemarkValue): Remark['arguments'] {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, map(value)]));
}
