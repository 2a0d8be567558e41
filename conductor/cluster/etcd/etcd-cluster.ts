/** One of `promenade/EtcdClusters/v1`: a cluster some of whose members run on the site's nodes. */
export interface EtcdCluster {
  readonly name: string;
  /** `https://192.0.2.1:2379`, without a path; one at least. */
  readonly endpoints: readonly string[];
  /** Directory below BATON_ETCD_TLS_DIR that has the authority, certificate and key. */
  readonly tls?: string;
  /** Stored credential, where the cluster asks for user and password. */
  readonly credential?: string;
  /** No member is taken out when fewer healthy voters would be left. */
  readonly minimumMembers: number;
  /** Which members run on which node, where names don't show it; without a node: on none of the site's. */
  readonly members: readonly { readonly node?: string; readonly name?: string; readonly address?: string }[];
}

/** Login that a cluster asks its clients for, where it does. */
export interface EtcdLogin {
  readonly username: string;
  readonly password: string;
}

/** `unreachable`: it runs, says the list, but nobody answers for it here. `unstarted`: added, and never seen running. */
export type MemberState = 'healthy' | 'unhealthy' | 'unreachable' | 'unstarted';

export interface ClusterMember {
  /** etcd's, a 64-bit number as decimal text. */
  readonly id: string;
  /** Empty while it is unstarted. */
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly isLearner: boolean;
  readonly state: MemberState;
  /** The reason why one is not healthy. */
  readonly why?: string;
  /** Where it answers. */
  readonly url?: string;
  /** How much of the log it has. */
  readonly raftIndex: bigint;
}

export interface ClusterView {
  /** In the order of their ids. */
  readonly members: readonly ClusterMember[];
  /** The id that all healthy voters name; `undefined` = none, or they don't agree. */
  readonly leader?: string;
  /** `NOSPACE of n1` */
  readonly alarms: readonly { readonly member: string; readonly alarm: string }[];
}

/** Returns how many of so many voters are more than half. */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** Names a member: `etcd-n1`, or, where it has no name yet, `8e9e05c52164694d at https://n1:2380`. */
export function nameOf({ id, name, peerUrls }: Pick<ClusterMember, 'id' | 'name' | 'peerUrls'>): string {
  if (name !== '') return name;
  return `${BigInt(id).toString(16)} at ${peerUrls.join(', ')}`;
}
