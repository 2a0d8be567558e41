/** Clients without a node that are kept, as many as Ironic's conductor keeps (`[redfish]connection_cache_size`). */
const mostWithoutNode = 1000;

/** Identity by which two nodes share a client. */
export interface ClientIdentity {
  /** Everything that the connection depends on: another password is another key. */
  readonly key: string;
  /** Place of the BMC. */
  readonly origin: string;
  /** Account whose sessions the client makes at its BMC. */
  readonly account: string;
  /** The node that is reached, where it is stored. */
  readonly node: string | undefined;
}

export interface SharedClients<Client> {
  /** Finds the client of the key, or makes it, and notes that the node is reached by it from now on. */
  readonly find: (identity: ClientIdentity, make: () => Client) => Client;
  /** Lets go of every other client of the account: its password has changed. */
  readonly keepAlone: (identity: ClientIdentity) => void;
  /** Lists the clients of a BMC. */
  readonly at: (origin: string) => readonly Client[];
  /** Forgets a node; a client that was its alone is let go. */
  readonly leave: (node: string) => void;
  /** Forgets all clients without letting go of them. */
  readonly takeAll: () => readonly Client[];
}

/**
 * Keeps the clients by which BMCs are reached. A client stays as long as a node is reached by it, so that a power round
 * over ten thousand nodes finds each session again; clients of no node are bounded. No call's cost grows with the fleet.
 * @param letGo ends the session of a client that nothing uses any more
 */
export function shareClients<Client>(letGo: (client: Client) => void, most = mostWithoutNode): SharedClients<Client> {
  const clients = new Map<string, { readonly client: Client } & Pick<ClientIdentity, 'origin' | 'account'>>();
  const keysAt = new Map<string, Set<string>>();
  const keysOfAccount = new Map<string, Set<string>>();
  const keyOfNode = new Map<string, string>();
  const nodesOfKey = new Map<string, Set<string>>();
  /** Keys of clients without a node, the longest unused first. */
  const withoutNode = new Set<string>();

  const drop = (key: string): void => {
    const found = clients.get(key);
    if (!found) return;
    clients.delete(key);
    withoutNode.delete(key);
    removeFrom(keysAt, found.origin, key);
    removeFrom(keysOfAccount, found.account, key);
    letGo(found.client);
  };
  const leave = (node: string): void => {
    const key = keyOfNode.get(node);
    if (key === undefined) return;
    keyOfNode.delete(node);
    removeFrom(nodesOfKey, key, node);
    if (!nodesOfKey.has(key)) drop(key);
  };
  const reach = (node: string, key: string): void => {
    if (keyOfNode.get(node) === key) return;
    leave(node);
    keyOfNode.set(node, key);
    addTo(nodesOfKey, key, node);
  };
  const noteUse = (key: string): void => {
    withoutNode.delete(key);
    if (nodesOfKey.has(key)) return;
    withoutNode.add(key);
    const [oldest] = withoutNode;
    if (withoutNode.size > most && oldest !== undefined) drop(oldest);
  };
  return {
    find: ({ key, origin, account, node }, make) => {
      if (node !== undefined) reach(node, key);
      const client = clients.get(key)?.client ?? make();
      clients.set(key, { client, origin, account });
      addTo(keysAt, origin, key);
      addTo(keysOfAccount, account, key);
      noteUse(key);
      return client;
    },
    keepAlone: ({ key, account }) => {
      for (const other of keysOfAccount.get(account) ?? []) if (other !== key) drop(other);
    },
    at: (origin) => [...(keysAt.get(origin) ?? [])].flatMap((key) => clients.get(key)?.client ?? []),
    leave,
    takeAll: () => {
      const all = [...clients.values()].map(({ client }) => client);
      for (const each of [clients, keysAt, keysOfAccount, withoutNode]) each.clear();
      return all;
    },
  };
}

function addTo(sets: Map<string, Set<string>>, name: string, value: string): void {
  const found = sets.get(name);
  if (found) found.add(value);
  else sets.set(name, new Set([value]));
}

function removeFrom(sets: Map<string, Set<string>>, name: string, value: string): void {
  const found = sets.get(name);
  found?.delete(value);
  if (found?.size === 0) sets.delete(name);
}
