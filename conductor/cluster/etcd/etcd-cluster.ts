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
  /** Which members run on which node, where names don't tell; without a node: on none of the site's. */
  readonly members: readonly { readonly node?: string; readonly name?: string; readonly address?: string }[];
}

/** What a cluster asks its clients for, where it does. */
export interface EtcdLogin {
  readonly username: string;
  readonly password: string;
}
